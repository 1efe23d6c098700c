import{a,b,c,d}from"./chunk-Y4RZBYRM.js";import"./chunk-5DM3E2H7.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
