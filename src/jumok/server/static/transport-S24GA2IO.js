import{a,b,c,d}from"./chunk-FRHGTYDL.js";import"./chunk-K5R4AYPT.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
