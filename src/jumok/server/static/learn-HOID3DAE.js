import{t as a}from"./chunk-FGJWBFJ3.js";import"./chunk-NDUFRO3F.js";export{a as Learn};
