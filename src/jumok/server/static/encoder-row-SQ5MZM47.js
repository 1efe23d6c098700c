import{a,b,c,d}from"./chunk-WY5KVOUH.js";import"./chunk-P4FTPAFH.js";import"./chunk-PMBO4UNG.js";export{a as arch,b as default,c as inputOf,d as termsOf};
