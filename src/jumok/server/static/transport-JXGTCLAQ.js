import{a,b,c,d}from"./chunk-N2JJLYZC.js";import"./chunk-MHU3KNPM.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
