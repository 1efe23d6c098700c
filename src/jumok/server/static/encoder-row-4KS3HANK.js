import{a,b,c,d}from"./chunk-MSLKPSLQ.js";import"./chunk-ANPLZBMO.js";import"./chunk-ARPREAPQ.js";export{a as arch,b as default,c as inputOf,d as termsOf};
