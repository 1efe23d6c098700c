import{t as a}from"./chunk-IKDBRXVI.js";import"./chunk-K5R4AYPT.js";export{a as Learn};
