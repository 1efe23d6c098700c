import{a,b,c,d}from"./chunk-ZR5HBFWZ.js";import"./chunk-IDMZZTPT.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
