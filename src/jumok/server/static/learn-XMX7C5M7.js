import{t as a}from"./chunk-LKAC3ESJ.js";import"./chunk-MSFR4F6X.js";export{a as Learn};
