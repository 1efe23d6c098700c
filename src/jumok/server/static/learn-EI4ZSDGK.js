import{t as a}from"./chunk-DNDNAYUZ.js";import"./chunk-IDMZZTPT.js";export{a as Learn};
