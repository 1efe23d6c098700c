import{a,b,c,d}from"./chunk-XLNANYKQ.js";import"./chunk-LKAC3ESJ.js";import"./chunk-MSFR4F6X.js";export{a as arch,b as default,c as inputOf,d as termsOf};
