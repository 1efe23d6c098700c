import{t as a}from"./chunk-5AHFRADS.js";import"./chunk-FHZUFLBS.js";export{a as Learn};
