import{f as a}from"./chunk-AFSQGUMJ.js";import"./chunk-S2IQRJL7.js";export{a as Learn};
