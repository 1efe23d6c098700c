import{k as a}from"./chunk-EXEJP5VG.js";import"./chunk-RL2UMDG4.js";export{a as Learn};
