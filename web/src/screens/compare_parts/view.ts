/** What the columns show, worked out from the answer and the traces. */
import type { CompareOut, ColumnOut, Manifest } from "../../api-types";
import { differences, marksAgainst, type Mark } from "../../lib/diff";
import type { Label } from "../../lib/heatmap";
import { fromRows, matrix, mergeWords, type Matrix } from "../../lib/matrix";
import { unitsOf, wordUnits } from "../../lib/tokens";

/** Stretches to mark in each answer: what the reference lacks, else what none of the others has. */
export function markedTexts(answer: CompareOut, reference: string): Mark[][] {
  const texts = answer.results.map((result) => result.text);
  if (reference) return texts.map((text) => marksAgainst(text, [reference]));
  return differences(texts).map((marks) => marks.filter((mark) => mark.lacking === texts.length - 1));
}

export interface Chrf {
  readonly value: number;
  /** the model whose answers stand in for a reference */
  readonly pseudo: string | null;
}

/** chrF of each column: against the reference, else against the stand-in where the sentence was grown. */
export function scoresAt(answer: CompareOut, grown: CompareOut | null, words: number, reference: boolean): (Chrf | null)[] {
  const entry = grown?.grow.find((one) => one.words === words);
  return answer.results.map((result) => {
    if (reference) return result.chrf === null ? null : { value: result.chrf, pseudo: null };
    const found = entry?.scores[result.model];
    return found && grown?.pseudo_reference ? { value: found.chrf, pseudo: grown.pseudo_reference } : null;
  });
}

/** Rows of the pictures of one column: tokens or words of its answer, with the tokens behind each. */
export interface Rows {
  readonly labels: readonly Label[];
  readonly tokens: readonly (readonly number[])[];
}

export function rowsOf(result: ColumnOut, manifest: Manifest | null, words: boolean): Rows {
  const side = manifest?.target;
  if (!side || side.tokens.length !== result.influence.values.length) {
    return { labels: result.tokens.map((token) => ({ text: token.text.trim() || "␣" })), tokens: result.tokens.map((_, i) => [i]) };
  }
  const units = words ? wordUnits(side) : unitsOf(side.tokens);
  return {
    labels: units.map((unit) => ({ text: unit.text, lang: side.lang, dim: unit.special })),
    tokens: units.map((unit) => unit.tokens),
  };
}

/** Influence on units of the answer: log-probabilities add, so rows of one unit are summed. */
export function influenceOf(result: ColumnOut, rows: Rows): Matrix {
  const all = fromRows(result.influence.values);
  const keys = result.influence.units.map((_, u) => [u]);
  const mean = mergeWords(all, rows.tokens, keys);
  mean.data.forEach((value, i) => (mean.data[i] = value * rows.tokens[Math.floor(i / keys.length)].length));
  return mean;
}

/** The fixed vector in rows of at most 32 values. */
export function stripOf(values: ArrayLike<number>): Matrix {
  const cols = Math.min(32, Math.max(1, values.length));
  const rows = Math.ceil(values.length / cols);
  const out = matrix(rows, cols, new Float32Array(rows * cols).fill(NaN));
  for (let i = 0; i < values.length; i++) out.data[i] = values[i];
  return out;
}

/** The row on which a source word bears the most; -1 without any. */
export function strongest(m: Matrix, col: number): number {
  let best = -1;
  for (let r = 0; r < m.rows; r++) if (best < 0 || m.data[r * m.cols + col] > m.data[best * m.cols + col]) best = r;
  return best;
}
