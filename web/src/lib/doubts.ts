/** Words of an answer that a person would probably change, and the text cut at their borders. */
import type { ConfidenceOut, WordDoubtOut } from "../api-types";
import { offsets, toUtf16 } from "./spans";

/** As in the library: a word that would rather be changed than kept. */
export const DOUBTFUL = 0.5;

export function doubtful(confidence: ConfidenceOut | null): readonly WordDoubtOut[] {
  return confidence?.words.filter((word) => word.change >= DOUBTFUL) ?? [];
}

export interface MarkedPiece {
  readonly text: string;
  /** inside the range that is pointed at */
  readonly marked: boolean;
  /** probability of a change, if it is a part of a doubtful word */
  readonly change: number | null;
}

/** A text in pieces; joined they are the text. `range` counts UTF-16 units, the doubts count characters as Python does. */
export function markedPieces(text: string, range: readonly [number, number] | null, doubts: readonly WordDoubtOut[]): MarkedPiece[] {
  const table = doubts.length > 0 ? offsets(text) : [];
  const words = doubts.map((word) => ({ span: toUtf16(table, word.text), change: word.change }));
  const borders = new Set([0, text.length, ...(range ?? []), ...words.flatMap((word) => word.span)]);
  const sorted = [...borders].sort((a, b) => a - b);
  const inside = (span: readonly [number, number], from: number, to: number) => span[0] <= from && to <= span[1];
  return sorted.slice(1).map((to, i) => {
    const from = sorted[i];
    const word = words.find(({ span }) => inside(span, from, to));
    return { text: text.slice(from, to), marked: range !== null && inside(range, from, to), change: word?.change ?? null };
  });
}
