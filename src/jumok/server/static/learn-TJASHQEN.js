import{k as a}from"./chunk-ARQE6A52.js";import"./chunk-ZIKMJT65.js";export{a as Learn};
