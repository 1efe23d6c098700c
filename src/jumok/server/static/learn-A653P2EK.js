import{t as a}from"./chunk-KKKFXQ3C.js";import"./chunk-IUKL7ELK.js";export{a as Learn};
