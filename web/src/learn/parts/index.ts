/** What figures share. */
export { Amounts, type Amount } from "./Amounts";
export { useHead, type HeadOfText } from "./head";
export { Slider } from "./Slider";
export { Strip } from "./Strip";
