import{a,b,c,d}from"./chunk-BKPY4KII.js";import"./chunk-SYPZ47VQ.js";import"./chunk-CJPD7JVE.js";export{a as arch,b as default,c as inputOf,d as termsOf};
