import{o as a}from"./chunk-SUFD6CJD.js";import"./chunk-6OK4ZFWT.js";export{a as Learn};
