import{a,b,c,d}from"./chunk-7QMNQS7T.js";import"./chunk-FGJWBFJ3.js";import"./chunk-NDUFRO3F.js";export{a as arch,b as default,c as inputOf,d as termsOf};
