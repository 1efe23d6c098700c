import{a,b,c,d}from"./chunk-MSHGA3MX.js";import"./chunk-LYUYVZ37.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
