import{a,b,c,d}from"./chunk-JXLYDAL7.js";import"./chunk-UNQA3GUH.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
