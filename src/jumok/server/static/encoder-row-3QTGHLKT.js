import{a,b,c,d}from"./chunk-4MIKAM26.js";import"./chunk-KKKFXQ3C.js";import"./chunk-IUKL7ELK.js";export{a as arch,b as default,c as inputOf,d as termsOf};
