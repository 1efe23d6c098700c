/** A tour of a minute: which screens it passes, and what of the address each step sets. */
import type { Card } from "../api-types";
import type { Op } from "./interventions";
import { encodeOps, type Screen } from "./link";

export const STEPS = ["text", "look", "heads", "inside", "break", "compare"] as const;
export type TourStep = (typeof STEPS)[number];

const SCREEN: Readonly<Record<TourStep, Screen>> = {
  text: "translate",
  look: "translate",
  heads: "attention",
  inside: "inside",
  break: "translate",
  compare: "compare",
};

/** Something that a reader can break with one click: the last look at the source, or the one vector of a model that never looks. */
export function breaking(card: Pick<Card, "kinds">): Op {
  const cross = card.kinds.cross;
  return cross ? { op: "mask_head", kind: "cross", layer: cross.layers - 1, head: "*" } : { op: "bridge", mode: "zero" };
}

/** The step of the address (from 1), as an index; null outside of the tour. */
export function stepOf(text: string | undefined): number | null {
  const n = Number(text) - 1;
  return text !== undefined && Number.isInteger(n) && n >= 0 && n < STEPS.length ? n : null;
}

/** Where step `n` leads: a screen, and parameters to change on the way. */
export function stopOf(
  n: number,
  card: Pick<Card, "kinds">,
): { readonly screen: Screen; readonly patch: Readonly<Record<string, string | number | null>> } {
  const step = STEPS[n];
  return {
    screen: SCREEN[step],
    patch: {
      tour: n + 1,
      q: step === "look" ? 0 : null,
      j: null,
      w: step === "break" ? encodeOps([breaking(card)]) : null,
      pin: step === "break" ? "edit" : null,
    },
  };
}
