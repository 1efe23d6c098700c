import{t as a}from"./chunk-AJMDRU7F.js";import"./chunk-LYUYVZ37.js";export{a as Learn};
