import{a,b,c,d}from"./chunk-WZN6ZRIH.js";import"./chunk-IUKL7ELK.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
