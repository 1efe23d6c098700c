import{a,b,c,d}from"./chunk-GNTYITJ6.js";import"./chunk-BLR6RXXV.js";import"./chunk-MDDOKU3E.js";export{a as arch,b as default,c as inputOf,d as termsOf};
