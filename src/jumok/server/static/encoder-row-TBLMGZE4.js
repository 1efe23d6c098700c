import{a,b,c,d}from"./chunk-APTQBJGE.js";import"./chunk-LSW3BXAD.js";import"./chunk-QCO634UW.js";export{a as arch,b as default,c as inputOf,d as termsOf};
