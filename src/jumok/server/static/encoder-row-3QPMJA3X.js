import{a,b,c,d}from"./chunk-5BUXBDLQ.js";import"./chunk-5AHFRADS.js";import"./chunk-FHZUFLBS.js";export{a as arch,b as default,c as inputOf,d as termsOf};
