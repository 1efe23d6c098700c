import{k as a}from"./chunk-E5X2Q6RN.js";import"./chunk-NLGG4TOW.js";export{a as Learn};
