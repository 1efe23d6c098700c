import{t as a}from"./chunk-X372QXVE.js";import"./chunk-5AQEBJ4G.js";export{a as Learn};
