import{t as a}from"./chunk-D5YCLSOZ.js";import"./chunk-UDUDKW7O.js";export{a as Learn};
