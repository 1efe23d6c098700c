import{a,b,c,d}from"./chunk-236QMXNW.js";import"./chunk-HWMFEN27.js";import"./chunk-7NX5EE7J.js";export{a as arch,b as default,c as inputOf,d as termsOf};
