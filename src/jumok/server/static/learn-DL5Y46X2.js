import{t as a}from"./chunk-LSW3BXAD.js";import"./chunk-QCO634UW.js";export{a as Learn};
