import{a,b,c,d}from"./chunk-5RSUKPP2.js";import"./chunk-L374YBZS.js";import"./chunk-3HCU4ET4.js";export{a as arch,b as default,c as inputOf,d as termsOf};
