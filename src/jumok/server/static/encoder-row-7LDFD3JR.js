import{a,b,c,d}from"./chunk-AHNZMU5X.js";import"./chunk-WDZE4I3P.js";import"./chunk-ACJLQ3WX.js";export{a as arch,b as default,c as inputOf,d as termsOf};
