import{k as a}from"./chunk-DIUU63EG.js";import"./chunk-6FYHPZRR.js";export{a as Learn};
