import{t as a}from"./chunk-ANPLZBMO.js";import"./chunk-ARPREAPQ.js";export{a as Learn};
