import{a,b,c,d}from"./chunk-VSIVXDF2.js";import"./chunk-6SOUF5EA.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
