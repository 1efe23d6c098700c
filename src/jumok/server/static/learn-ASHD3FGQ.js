import{t as a}from"./chunk-73XJCQV5.js";import"./chunk-6E2MIMAY.js";export{a as Learn};
