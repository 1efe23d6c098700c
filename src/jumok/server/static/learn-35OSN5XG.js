import{o as a}from"./chunk-P4FTPAFH.js";import"./chunk-PMBO4UNG.js";export{a as Learn};
