import{a,b,c,d}from"./chunk-LSMWVOR7.js";import"./chunk-73XJCQV5.js";import"./chunk-6E2MIMAY.js";export{a as arch,b as default,c as inputOf,d as termsOf};
