import{t as a}from"./chunk-3VZG3ZMW.js";import"./chunk-BA2TWHUF.js";export{a as Learn};
