import{t as a}from"./chunk-YQ5GSFHP.js";import"./chunk-MHU3KNPM.js";export{a as Learn};
