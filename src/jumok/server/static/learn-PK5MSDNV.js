import{t as a}from"./chunk-L374YBZS.js";import"./chunk-3HCU4ET4.js";export{a as Learn};
