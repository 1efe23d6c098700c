import{k as a}from"./chunk-GLQEIKJA.js";import"./chunk-3III5325.js";export{a as Learn};
