import{t as a}from"./chunk-447XJNGY.js";import"./chunk-73MP35MT.js";export{a as Learn};
