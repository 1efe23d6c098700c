/** Arithmetic for readers: numbers rounded so that the printed parts add up to the printed total, digit by digit. */
import { number } from "./format";
import { entropy, largest } from "./matrix";
import { range } from "./range";

/** A number as it is printed: exactly `units` / 10^`decimals`. */
export interface Shown {
  readonly units: number;
  readonly decimals: number;
  readonly text: string;
}

const MINUS = "\u2212";
const LARGEST = 2 ** 52;

export function shown(value: number, decimals: number): Shown {
  return fromUnits(Math.round(value * 10 ** decimals) + 0, decimals, value);
}

function fromUnits(units: number, decimals: number, value = units): Shown {
  if (!Number.isFinite(value) || Math.abs(units) > LARGEST) return { units: NaN, decimals, text: number(value) };
  const digits = String(Math.abs(units)).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const text = decimals > 0 ? `${whole}.${digits.slice(-decimals)}` : whole;
  return { units, decimals, text: units < 0 ? MINUS + text : text };
}

/** The same with a sign on positive numbers too. */
export const withSign = (one: Shown): string => (one.units > 0 ? "+" : "") + one.text;
/** What a reader reads: the printed number, not the one behind it. */
export const printed = (one: Shown): number => one.units / 10 ** one.decimals;

/** Decimals that show a value of this size with four significant figures, three at least and six at most. */
export function decimalsFor(size: number): number {
  if (!(Math.abs(size) > 0) || !Number.isFinite(size)) return 3;
  return Math.max(3, Math.min(6, 3 - Math.floor(Math.log10(Math.abs(size)))));
}

export interface Part {
  /** place among the values */
  readonly index: number;
  readonly shown: Shown;
}
export interface Sum {
  readonly parts: readonly Part[];
  /** what is left of the printed total after the printed parts: the other values, or with `count` 0 only rounding; null when nothing is */
  readonly rest: { readonly count: number; readonly shown: Shown } | null;
  readonly total: Shown;
}

/** The values of largest magnitude, the rest in one, and their total: printed parts plus printed rest are exactly the printed total. */
export function sumOf(values: ArrayLike<number>, total: number, { most = 8, decimals = decimalsFor(total), first = -1 } = {}): Sum {
  const order = ranked(values);
  const chosen = order.slice(0, most);
  if (first >= 0 && first < values.length && !chosen.includes(first)) chosen.splice(-1, 1, first);
  const parts = chosen.map((index) => ({ index, shown: shown(values[index], decimals) }));
  const whole = shown(total, decimals);
  const left = parts.reduce((units, part) => units - part.shown.units, whole.units);
  const count = values.length - parts.length;
  return { parts, rest: count > 0 || left !== 0 ? { count, shown: fromUnits(left, decimals) } : null, total: whole };
}

/** Indices by magnitude, largest first. */
export const ranked = (values: ArrayLike<number>, n = values.length): number[] => largest(Array.from(values, Math.abs), n);

/** Whether values really are the parts of a total: a what-if or another score function may have made it otherwise. */
export function addsUp(values: ArrayLike<number>, total: number): boolean {
  let [sum, size] = [0, 0];
  for (let i = 0; i < values.length; i++) [sum, size] = [sum + values[i], size + Math.abs(values[i])];
  return Math.abs(sum - total) <= 1e-3 * (size + Math.abs(total)) + 1e-6;
}

/** The fewest decimals with which a reader who computes with the printed operands gets the printed result; null when none does. */
export function operandDecimals(
  operands: readonly number[],
  compute: (...printed: number[]) => number,
  result: Shown,
  least = 3,
  most = 8,
): number | null {
  for (let decimals = least; decimals <= most; decimals++) {
    const found = shown(compute(...operands.map((value) => printed(shown(value, decimals)))), result.decimals);
    if (found.units === result.units) return decimals;
  }
  return null;
}

/** Element-wise products. */
export const products = (a: ArrayLike<number>, b: ArrayLike<number>): Float64Array =>
  Float64Array.from({ length: a.length }, (_, i) => a[i] * b[i]);

/** Softmax over the allowed entries; forbidden ones get 0. */
export function softmax(scores: ArrayLike<number>, mask: ArrayLike<number> | null = null, temperature = 1): Float64Array {
  const allowed = (i: number) => mask?.[i] !== 0;
  let top = -Infinity;
  for (let i = 0; i < scores.length; i++) if (allowed(i)) top = Math.max(top, scores[i]);
  const out = Float64Array.from({ length: scores.length }, (_, i) => (allowed(i) ? Math.exp((scores[i] - top) / temperature) : 0));
  const sum = out.reduce((a, b) => a + b, 0);
  return sum > 0 ? out.map((x) => x / sum) : out;
}

export interface Softmax {
  /** the largest allowed entry of the row, taken off before the exponential */
  readonly top: Shown;
  readonly score: Shown;
  /** exp(score − top) of the chosen entry, and the sum of all of them */
  readonly exp: Shown;
  readonly sum: Sum;
  readonly weight: Shown;
  /** whether each printed step follows from the printed numbers before it */
  readonly exact: boolean;
}

/** One entry of a softmax in steps whose printed numbers follow from each other: exp(x − max), the sum over the row, their quotient. */
export function softmaxSteps(scores: ArrayLike<number>, mask: ArrayLike<number>, at: number, weight: number): Softmax {
  const allowed = range(scores.length).filter((i) => mask[i] !== 0);
  const top = Math.max(...allowed.map((i) => scores[i]));
  const exps = Float64Array.from({ length: scores.length }, (_, i) => (mask[i] !== 0 ? Math.exp(scores[i] - top) : 0));
  const total = exps.reduce((a, b) => a + b, 0);
  const result = shown(weight, Math.min(5, decimalsFor(weight)));
  const divided = operandDecimals([exps[at], total], (e, sum) => e / sum, result);
  const decimals = divided ?? 6;
  const exp = shown(exps[at], decimals);
  const raised = operandDecimals([scores[at], top], (x, most) => Math.exp(x - most), exp);
  const sum = sumOf(exps, total, { decimals, first: at });
  return {
    top: shown(top, raised ?? 6),
    score: shown(scores[at], raised ?? 6),
    exp,
    sum,
    weight: result,
    exact: divided !== null && raised !== null,
  };
}

export type Trial = "unscaled" | "temperature" | "unmasked" | "uniform";
export const TRIALS: readonly Trial[] = ["unscaled", "temperature", "unmasked", "uniform"];

/** Weights of a row if one thing were done otherwise. */
export function rowUnder(
  trial: Trial,
  row: { scores: ArrayLike<number>; scaled: ArrayLike<number>; mask: ArrayLike<number> },
  temperature: number,
): Float64Array {
  switch (trial) {
    case "unscaled":
      return softmax(row.scores, row.mask);
    case "temperature":
      return softmax(row.scaled, row.mask, temperature);
    case "unmasked":
      return softmax(row.scaled);
    case "uniform":
      return softmax(new Float64Array(row.scores.length), row.mask);
  }
}

/** Mean entropy over rows, in bits. */
export const meanEntropy = (rows: readonly ArrayLike<number>[]): number =>
  rows.reduce((sum, row) => sum + entropy(row), 0) / Math.max(1, rows.length);

export const norm = (values: ArrayLike<number>): number => Math.sqrt(Array.from(values).reduce((sum, x) => sum + x * x, 0));
