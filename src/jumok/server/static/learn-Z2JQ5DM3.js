import{t as a}from"./chunk-GPUDP4W6.js";import"./chunk-ISIS6QBY.js";export{a as Learn};
