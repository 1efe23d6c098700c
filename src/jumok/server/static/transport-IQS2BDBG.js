import{a,b,c,d}from"./chunk-UBU65LG6.js";import"./chunk-POIMGC3D.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
