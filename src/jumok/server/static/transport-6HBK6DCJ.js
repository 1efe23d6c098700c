import{a,b,c,d}from"./chunk-HQZNXSOJ.js";import"./chunk-NDUFRO3F.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
