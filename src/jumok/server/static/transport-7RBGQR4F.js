import{a,b,c,d}from"./chunk-D43LU4MO.js";import"./chunk-ARPREAPQ.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
