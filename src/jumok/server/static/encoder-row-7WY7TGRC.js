import{a,b,c,d}from"./chunk-5A3PFTYU.js";import"./chunk-UBEVYGCO.js";import"./chunk-6KAOWA7O.js";export{a as arch,b as default,c as inputOf,d as termsOf};
