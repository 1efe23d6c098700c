import{t as a}from"./chunk-HWMFEN27.js";import"./chunk-7NX5EE7J.js";export{a as Learn};
