import{a,b,c,d}from"./chunk-FKAMTWFO.js";import"./chunk-E4DOVAWA.js";import"./chunk-J5O2JC7O.js";export{a as arch,b as default,c as inputOf,d as termsOf};
