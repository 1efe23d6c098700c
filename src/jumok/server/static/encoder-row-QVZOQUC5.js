import{a,b,c,d}from"./chunk-5RC6LVIT.js";import"./chunk-IKDBRXVI.js";import"./chunk-K5R4AYPT.js";export{a as arch,b as default,c as inputOf,d as termsOf};
