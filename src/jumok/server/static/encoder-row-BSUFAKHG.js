import{a,b,c,d}from"./chunk-7YLZCA7C.js";import"./chunk-MAO5OPY7.js";import"./chunk-Q3UXM6DO.js";export{a as arch,b as default,c as inputOf,d as termsOf};
