/** The later screens of an exported file: those that only look. */
import { Beam } from "./beam";
import { Compare } from "./compare";

export const screens = { beam: Beam, compare: Compare };
