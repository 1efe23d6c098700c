import{a,b,c,d}from"./chunk-2S7P6U5V.js";import"./chunk-2ONY7ML7.js";import"./chunk-GJHGFAW7.js";export{a as arch,b as default,c as inputOf,d as termsOf};
