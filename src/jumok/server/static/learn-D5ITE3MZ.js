import{t as a}from"./chunk-2ONY7ML7.js";import"./chunk-GJHGFAW7.js";export{a as Learn};
