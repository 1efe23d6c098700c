import{a,b,c,d}from"./chunk-32G5RPZG.js";import"./chunk-RYJKROEI.js";import"./chunk-6LF5RF4L.js";export{a as arch,b as default,c as inputOf,d as termsOf};
