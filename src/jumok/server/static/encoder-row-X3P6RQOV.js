import{a,b,c,d}from"./chunk-CED3BWGJ.js";import"./chunk-AJMDRU7F.js";import"./chunk-LYUYVZ37.js";export{a as arch,b as default,c as inputOf,d as termsOf};
