import{o as a}from"./chunk-UBEVYGCO.js";import"./chunk-6KAOWA7O.js";export{a as Learn};
