import{k as a}from"./chunk-XDZK7NWY.js";import"./chunk-AKRRD3DB.js";export{a as Learn};
