import{a,b,c,d}from"./chunk-HSGOEQTK.js";import"./chunk-YQ5GSFHP.js";import"./chunk-MHU3KNPM.js";export{a as arch,b as default,c as inputOf,d as termsOf};
