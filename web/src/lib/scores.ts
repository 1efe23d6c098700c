/** What the width of queries and keys does to the softmax: random ones, with and without the division by √d. */
import { softmax } from "./arithmetic";
import { normal } from "./chance";
import { entropy } from "./matrix";
import { range } from "./range";

export const KEYS = 16;
/** Widths that are measured: 1, 2, 4, … 1024. */
export const WIDTHS: readonly number[] = range(11).map((n) => 2 ** n);
const NUMBERS = 100_000; // drawn for one width, about
const [LEAST, MOST] = [32, 400]; // rows of one width

/** Products of one random query with random keys, rows of them. */
export function scoreRows(d: number, rows: number, seed: number): Float64Array[] {
  const draw = normal(seed);
  const query = new Float64Array(d);
  return range(rows).map(() => {
    for (let i = 0; i < d; i++) query[i] = draw();
    return Float64Array.from({ length: KEYS }, () => {
      let sum = 0;
      for (let i = 0; i < d; i++) sum += query[i] * draw();
      return sum;
    });
  });
}

export interface AtWidth {
  readonly d: number;
  /** standard deviation of the scores */
  readonly spread: number;
  /** mean entropy of the weights in bits, without and with the division */
  readonly raw: number;
  readonly scaled: number;
  /** mean slope of the softmax, Σ w (1 − w): what is left of a gradient that comes through it */
  readonly rawSlope: number;
  readonly scaledSlope: number;
  /** the first row: its scores, its weights without and with the division */
  readonly row: { readonly scores: Float64Array; readonly raw: Float64Array; readonly scaled: Float64Array };
}

export const slope = (weights: ArrayLike<number>): number => Array.from(weights).reduce((sum, w) => sum + w * (1 - w), 0);
const mean = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length;

export function atWidth(d: number, seed: number): AtWidth {
  const scores = scoreRows(d, Math.max(LEAST, Math.min(MOST, Math.round(NUMBERS / (KEYS * d + d)))), seed);
  const raw = scores.map((row) => softmax(row));
  const scaled = scores.map((row) => softmax(row.map((score) => score / Math.sqrt(d))));
  const all = scores.flatMap((row) => Array.from(row));
  return {
    d,
    spread: Math.sqrt(mean(all.map((score) => score * score))),
    raw: mean(raw.map(entropy)),
    scaled: mean(scaled.map(entropy)),
    rawSlope: mean(raw.map(slope)),
    scaledSlope: mean(scaled.map(slope)),
    row: { scores: scores[0], raw: raw[0], scaled: scaled[0] },
  };
}
