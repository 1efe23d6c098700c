import{a,b,c,d}from"./chunk-6ZUDT6J4.js";import"./chunk-73MP35MT.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
