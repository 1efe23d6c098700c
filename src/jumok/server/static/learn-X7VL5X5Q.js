import{t as a}from"./chunk-BLR6RXXV.js";import"./chunk-MDDOKU3E.js";export{a as Learn};
