import{t as a}from"./chunk-JGVJPTYG.js";import"./chunk-6SOUF5EA.js";export{a as Learn};
