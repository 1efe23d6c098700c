import{o as a}from"./chunk-TTJFPU6Y.js";import"./chunk-OPQSWYME.js";export{a as Learn};
