import{t as a}from"./chunk-OAJXFZ75.js";import"./chunk-ZNXA26SK.js";export{a as Learn};
