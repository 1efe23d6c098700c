/** The kinds of attention, in the order in which they are shown. */
import type { Card, Kind } from "../api-types";

export const KINDS: readonly Kind[] = ["enc_self", "dec_self", "cross", "copy"];

/** The kind asked for if the model has it, else cross attention, else any that it has. */
export const kindOf = (asked: string | undefined, kinds: Card["kinds"]): Kind | undefined =>
  [asked, "cross", ...KINDS].map((name) => KINDS.find((kind) => kind === name && kinds[kind])).find(Boolean);
