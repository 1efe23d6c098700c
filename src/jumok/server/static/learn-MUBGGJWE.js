import{k as a}from"./chunk-YIAW47R7.js";import"./chunk-MYRVZDPR.js";export{a as Learn};
