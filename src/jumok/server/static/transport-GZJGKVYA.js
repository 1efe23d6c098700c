import{a,b,c,d}from"./chunk-MZPCJV4K.js";import"./chunk-MDDOKU3E.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
