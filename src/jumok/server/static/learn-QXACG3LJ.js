import{t as a}from"./chunk-KFPX2ZSX.js";import"./chunk-DTRKJFQZ.js";export{a as Learn};
