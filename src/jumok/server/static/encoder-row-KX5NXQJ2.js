import{a,b,c,d}from"./chunk-R3LNGKYS.js";import"./chunk-TLMNKAK2.js";import"./chunk-CUOQZN7I.js";export{a as arch,b as default,c as inputOf,d as termsOf};
