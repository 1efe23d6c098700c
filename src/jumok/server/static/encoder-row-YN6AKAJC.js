import{a,b,c,d}from"./chunk-VV3CLH4A.js";import"./chunk-D5YCLSOZ.js";import"./chunk-UDUDKW7O.js";export{a as arch,b as default,c as inputOf,d as termsOf};
