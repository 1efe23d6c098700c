import{t as a}from"./chunk-E4DOVAWA.js";import"./chunk-J5O2JC7O.js";export{a as Learn};
