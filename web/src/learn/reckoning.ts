/** The arithmetic of the figures: pure functions of what a trace holds. */
import type { Manifest } from "../api-types";
import { entropy, largest, row, type Matrix } from "../lib/matrix";
import { range } from "../lib/range";
import type { Head } from "../screens/inside/head";

/** The step to predict: one that looks at a token of another kind, such as a digit at a word, as far from its own place as can be. */
export function stepToAsk({ weights, rows, cols }: Pick<Head, "weights" | "rows" | "cols">): number {
  const kind = (text: string) => (/^\p{L}+$/u.test(text) ? "word" : /^\p{N}+$/u.test(text) ? "number" : null);
  const worth = rows.map(({ text }, q) => {
    const k = largest(row(weights, q), 1)[0];
    const [writes, reads] = [kind(text), kind(cols[k].text)];
    return writes && reads ? Math.abs(k / cols.length - q / rows.length) + (writes === reads ? 0 : 1) : -1;
  });
  return largest(worth, 1)[0] ?? 0;
}

/** Some tokens to choose from, in their order: the strongest, and others that are spread over the sentence and read differently. */
export function candidates({ weights, cols }: Pick<Head, "weights" | "cols">, step: number, count = 6): number[] {
  const chosen = [largest(row(weights, step), 1)[0]];
  const every = Math.max(1, Math.floor(cols.length / (2 * count)));
  for (let k = 0; k < cols.length && chosen.length < count; k += every)
    if (!chosen.some((one) => cols[one].text === cols[k].text)) chosen.push(k);
  return chosen.sort((a, b) => a - b);
}

/** The row that is the least decided: there is most to see. */
export function softestRow(weights: Matrix): number {
  return (
    largest(
      Array.from({ length: weights.rows }, (_, q) => entropy(row(weights, q))),
      1,
    )[0] ?? 0
  );
}

/** Two entries whose difference is as near to 1 as can be, the larger first; only those that `speaks` says can be spoken of. */
export function pairNearOne(scores: ArrayLike<number>, speaks: (i: number) => boolean = () => true): readonly [number, number] {
  let found: readonly [number, number] = [0, 0];
  let off = Infinity;
  for (let a = 0; a < scores.length; a++)
    for (let b = 0; b < scores.length; b++) {
      const far = Math.abs(scores[a] - scores[b] - 1);
      if (a !== b && far < off && speaks(a) && speaks(b)) [found, off] = [[a, b], far];
    }
  return found;
}

/** The first case in which the answer is wrong, or where it is not known, is not that of the other model; −1 if there is none. */
export const firstWrong = (all: readonly { readonly right?: string; readonly mine: string; readonly theirs: string | null }[]): number =>
  all.findIndex(({ right, mine, theirs }) => (right ?? theirs ?? mine) !== mine);

/** The formula: sines in even dimensions, cosines in odd ones. */
export const sinusoids = (count: number, width: number): number[][] =>
  range(count).map((p) =>
    range(width).map((n) => {
      const angle = p / 10000 ** ((2 * Math.floor(n / 2)) / width);
      return n % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }),
  );

/** What became of an answer: the same, the same characters in another order, or something else. */
export function fateOf(before: string, after: string): 0 | 1 | 2 {
  if (before === after) return 0;
  const sorted = (text: string) => [...text].sort().join("");
  return sorted(before) === sorted(after) ? 1 : 2;
}

/** ((5 + |y|) / 6)^α, by which scores are divided. */
export const lengthPenalty = (tokens: number, alpha = 1): number => ((5 + tokens) / 6) ** alpha;

/** Heads to silence: all of a few, some of many, so that a large model answers in time. */
export const headsToAsk = (heads: number, most = 4): number[] =>
  heads <= 8 ? range(heads) : range(most).map((n) => Math.floor((n * heads) / most));

/** How many tokens a character is read as, without those that stand for a space or an end. */
export const lettersOf = ({ source }: Pick<Manifest, "source">) =>
  source.tokens.filter((token) => token.type !== "special" && (token.byte !== undefined || token.piece.trim() !== "")).length;

/** The right count among others that one might expect: words, and characters. */
export function countsToOffer(n: number, text: string): number[] {
  const words = text.trim().split(/\s+/).length;
  const characters = [...text].length;
  return [...new Set([words, words + 1, n, characters + 4])].sort((a, b) => a - b);
}
