import{k as a}from"./chunk-2DHPZWRX.js";import"./chunk-MTCWZM3Q.js";export{a as Learn};
