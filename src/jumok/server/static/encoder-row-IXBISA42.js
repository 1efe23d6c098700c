import{a,b,c,d}from"./chunk-EBW43HWK.js";import"./chunk-TTJFPU6Y.js";import"./chunk-OPQSWYME.js";export{a as arch,b as default,c as inputOf,d as termsOf};
