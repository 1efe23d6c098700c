import{a,b,c,d}from"./chunk-NBCWB6EF.js";import"./chunk-7BCRM5AW.js";import"./chunk-UNQA3GUH.js";export{a as arch,b as default,c as inputOf,d as termsOf};
