import{t as a}from"./chunk-SYPZ47VQ.js";import"./chunk-CJPD7JVE.js";export{a as Learn};
