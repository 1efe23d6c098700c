import{k as a}from"./chunk-GEDT7NYE.js";import"./chunk-UHUR3XNK.js";export{a as Learn};
