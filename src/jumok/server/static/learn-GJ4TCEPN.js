import{t as a}from"./chunk-GGN5L6J6.js";import"./chunk-UDU7JGCJ.js";export{a as Learn};
