import{p as a}from"./chunk-OGJFJQB2.js";import"./chunk-FG4B4RND.js";export{a as Learn};
