import{a,b,c,d}from"./chunk-75LSZGRV.js";import"./chunk-Q3UXM6DO.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
