import{a,b,c,d}from"./chunk-RH6TNRVV.js";import"./chunk-447XJNGY.js";import"./chunk-73MP35MT.js";export{a as arch,b as default,c as inputOf,d as termsOf};
