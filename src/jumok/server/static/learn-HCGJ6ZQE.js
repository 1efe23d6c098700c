import{k as a}from"./chunk-FOZYKLR6.js";import"./chunk-LW5Q3UHN.js";export{a as Learn};
