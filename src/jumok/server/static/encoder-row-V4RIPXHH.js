import{a,b,c,d}from"./chunk-65GLYI73.js";import"./chunk-B4WEPDV2.js";import"./chunk-POIMGC3D.js";export{a as arch,b as default,c as inputOf,d as termsOf};
