import{a,b,c,d}from"./chunk-KFF4YMDU.js";import"./chunk-JGVJPTYG.js";import"./chunk-6SOUF5EA.js";export{a as arch,b as default,c as inputOf,d as termsOf};
