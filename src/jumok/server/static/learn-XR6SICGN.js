import{k as a}from"./chunk-TDSBPFAN.js";import"./chunk-W7CEFABN.js";export{a as Learn};
