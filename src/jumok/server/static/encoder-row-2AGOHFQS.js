import{a,b,c,d}from"./chunk-HCATWU5M.js";import"./chunk-ZV6HYETW.js";import"./chunk-5DM3E2H7.js";export{a as arch,b as default,c as inputOf,d as termsOf};
