/** What figures share. */
export { Amounts, type Amount } from "./Amounts";
export { useHead, type HeadOfText } from "./head";
export { HeadPicker, lastHead, type HeadPlace } from "./HeadPicker";
export { Marked } from "./Marked";
export { Slider } from "./Slider";
export { Strip } from "./Strip";
export { trouble } from "./trouble";
