import{a,b,c,d}from"./chunk-ANZCOBQB.js";import"./chunk-NTIFIXOD.js";import"./chunk-6ESOSOOD.js";export{a as arch,b as default,c as inputOf,d as termsOf};
