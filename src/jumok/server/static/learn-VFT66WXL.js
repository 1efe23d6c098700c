import{t as a}from"./chunk-WDZE4I3P.js";import"./chunk-ACJLQ3WX.js";export{a as Learn};
