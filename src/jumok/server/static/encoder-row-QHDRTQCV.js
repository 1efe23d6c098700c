import{a,b,c,d}from"./chunk-SWJNZNVR.js";import"./chunk-GGN5L6J6.js";import"./chunk-UDU7JGCJ.js";export{a as arch,b as default,c as inputOf,d as termsOf};
