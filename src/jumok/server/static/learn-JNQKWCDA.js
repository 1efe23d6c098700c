import{t as a}from"./chunk-B4WEPDV2.js";import"./chunk-POIMGC3D.js";export{a as Learn};
