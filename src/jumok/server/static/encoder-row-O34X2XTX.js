import{a,b,c,d}from"./chunk-JPW7RM23.js";import"./chunk-KFPX2ZSX.js";import"./chunk-DTRKJFQZ.js";export{a as arch,b as default,c as inputOf,d as termsOf};
