import{a,b,c,d}from"./chunk-MZHFRFCM.js";import"./chunk-TCUWK56W.js";import"./chunk-7FCZUKFT.js";export{a as arch,b as default,c as inputOf,d as termsOf};
