import{p as a}from"./chunk-SIHEUEZP.js";import"./chunk-4EUDXX7D.js";export{a as Learn};
