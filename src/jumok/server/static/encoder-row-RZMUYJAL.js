import{a,b,c,d}from"./chunk-I6H2KTMA.js";import"./chunk-SUFD6CJD.js";import"./chunk-6OK4ZFWT.js";export{a as arch,b as default,c as inputOf,d as termsOf};
