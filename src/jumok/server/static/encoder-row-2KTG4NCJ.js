import{a,b,c,d}from"./chunk-MCJIUZT5.js";import"./chunk-OAJXFZ75.js";import"./chunk-ZNXA26SK.js";export{a as arch,b as default,c as inputOf,d as termsOf};
