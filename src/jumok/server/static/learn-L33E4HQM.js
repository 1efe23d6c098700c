import{k as a}from"./chunk-JOEFGVZO.js";import"./chunk-5UCKPNH6.js";export{a as Learn};
