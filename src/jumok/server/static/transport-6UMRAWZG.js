import{a,b,c,d}from"./chunk-X7VKQYKJ.js";import"./chunk-UDU7JGCJ.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
