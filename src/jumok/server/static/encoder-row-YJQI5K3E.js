import{a,b,c,d}from"./chunk-RFWYHRDA.js";import"./chunk-GPUDP4W6.js";import"./chunk-ISIS6QBY.js";export{a as arch,b as default,c as inputOf,d as termsOf};
