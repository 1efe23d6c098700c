import{t as a}from"./chunk-7BCRM5AW.js";import"./chunk-UNQA3GUH.js";export{a as Learn};
