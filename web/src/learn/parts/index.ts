/** What figures share. */
export { Amounts, type Amount } from "./Amounts";
export { useHead, type HeadOfText } from "./head";
export { HeadPicker, lastHead, type HeadPlace } from "./HeadPicker";
export { Marked } from "./Marked";
export { isDates, useReference } from "./reference";
export { Slider } from "./Slider";
export { Strip } from "./Strip";
export { Passage, stepsOf, useGrids, usePass } from "./Passage";
export { trouble } from "./trouble";
export { updateLines, type UpdateLine } from "./update";
export { outcome, wrongTokens } from "./slips";
