import{a,b,c,d}from"./chunk-JKD3XIBS.js";import"./chunk-BA2TWHUF.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
