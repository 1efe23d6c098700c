import{k as a}from"./chunk-7TGPRYFX.js";import"./chunk-EQRT23CT.js";export{a as Learn};
