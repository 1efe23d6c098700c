import{o as a}from"./chunk-RYJKROEI.js";import"./chunk-6LF5RF4L.js";export{a as Learn};
