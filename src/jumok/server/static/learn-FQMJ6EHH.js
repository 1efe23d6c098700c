import{t as a}from"./chunk-Y2VCSQNE.js";import"./chunk-UYBOOUUO.js";export{a as Learn};
