import{t as a}from"./chunk-TLMNKAK2.js";import"./chunk-CUOQZN7I.js";export{a as Learn};
