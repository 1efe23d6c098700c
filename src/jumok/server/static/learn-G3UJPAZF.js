import{t as a}from"./chunk-TCUWK56W.js";import"./chunk-7FCZUKFT.js";export{a as Learn};
