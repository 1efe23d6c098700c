import{a,b,c,d}from"./chunk-LQ3CXGHK.js";import"./chunk-6E2MIMAY.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
