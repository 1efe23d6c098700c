import{t as a}from"./chunk-MAO5OPY7.js";import"./chunk-Q3UXM6DO.js";export{a as Learn};
