import{k as a}from"./chunk-LGFCCDND.js";import"./chunk-3OGYUQJL.js";export{a as Learn};
