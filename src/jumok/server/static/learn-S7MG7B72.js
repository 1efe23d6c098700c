import{k as a}from"./chunk-QNFV4IDC.js";import"./chunk-P46I36TF.js";export{a as Learn};
