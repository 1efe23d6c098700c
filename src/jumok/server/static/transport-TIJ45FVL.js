import{a,b,c,d}from"./chunk-CD2AWPSM.js";import"./chunk-5AQEBJ4G.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
