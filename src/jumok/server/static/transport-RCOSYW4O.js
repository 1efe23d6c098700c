import{a,b,c,d}from"./chunk-R2ZB4VT5.js";import"./chunk-UDUDKW7O.js";export{d as addFolder,a as localAnswer,c as localEvents,b as localTensors};
