import{a,b,c,d}from"./chunk-TPUMTEAX.js";import"./chunk-DNDNAYUZ.js";import"./chunk-IDMZZTPT.js";export{a as arch,b as default,c as inputOf,d as termsOf};
