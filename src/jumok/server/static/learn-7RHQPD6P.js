import{t as a}from"./chunk-ZV6HYETW.js";import"./chunk-5DM3E2H7.js";export{a as Learn};
