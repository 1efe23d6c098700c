import{k as a}from"./chunk-DPLJDAEO.js";import"./chunk-K3Q4PXJ4.js";export{a as Learn};
