import{a,b,c,d}from"./chunk-WDP26X3K.js";import"./chunk-Y2VCSQNE.js";import"./chunk-UYBOOUUO.js";export{a as arch,b as default,c as inputOf,d as termsOf};
