import{t as a}from"./chunk-NTIFIXOD.js";import"./chunk-6ESOSOOD.js";export{a as Learn};
