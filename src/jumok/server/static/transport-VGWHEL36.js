import{a,b,c,d}from"./chunk-QIY7FTIZ.js";import"./chunk-CUOQZN7I.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
