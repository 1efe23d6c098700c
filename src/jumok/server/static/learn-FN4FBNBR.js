import{f as a}from"./chunk-33UK2EQ3.js";import"./chunk-HC2TT7L6.js";export{a as Learn};
