import{p as a}from"./chunk-PLKHGNGL.js";import"./chunk-4BINPNBV.js";export{a as Learn};
