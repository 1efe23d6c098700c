import{a,b,c,d}from"./chunk-3UZX7RZL.js";import"./chunk-3VZG3ZMW.js";import"./chunk-BA2TWHUF.js";export{a as arch,b as default,c as inputOf,d as termsOf};
