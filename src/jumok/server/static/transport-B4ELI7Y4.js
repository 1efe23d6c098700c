import{a,b,c,d}from"./chunk-OJT24C2I.js";import"./chunk-GJHGFAW7.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
