import{a,b,c,d}from"./chunk-4H3UIAPV.js";import"./chunk-X372QXVE.js";import"./chunk-5AQEBJ4G.js";export{a as arch,b as default,c as inputOf,d as termsOf};
