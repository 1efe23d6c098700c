/** What a layer costs: multiplications by the formula, and the same work done in this tab, to be counted and timed. */
import { normal } from "./chance";

export const PARTS = ["attention", "recurrence", "feedforward"] as const;
export type Part = (typeof PARTS)[number];
/** The inner width of a feed-forward network, in widths of the model. */
export const INNER = 4;

/** Multiplications of one layer over n tokens of width d. Attention is QKᵀ and weights·V; projections cost 4nd² more, whatever n is. */
export const multiplications = (part: Part, n: number, d: number): number =>
  ({ attention: 2 * n * n * d, recurrence: 2 * n * d * d, feedforward: 2 * n * d * INNER * d })[part];

/** The smallest n at which attention takes more multiplications than another part. */
export function crossing(d: number, than: Part): number {
  let n = 1;
  while (multiplications("attention", n, d) <= multiplications(than, n, d)) n++;
  return n;
}

export type Times = (x: number, y: number) => number;
const times: Times = (x, y) => x * y;

/** y += x W for one row x (k numbers) of `from` and W (k, m). */
function addProduct(
  y: Float32Array,
  at: number,
  from: Float32Array,
  row: number,
  w: Float32Array,
  k: number,
  m: number,
  times: Times,
): void {
  for (let i = 0; i < k; i++) {
    const x = from[row + i];
    for (let j = 0; j < m; j++) y[at + j] += times(x, w[i * m + j]);
  }
}

export interface Job {
  /** does the work once; a number that depends on all of it, so that none can be left out */
  run(): number;
}

/** A layer of this size with random numbers. `multiply` is what multiplies, so that it can be counted. */
export function job(part: Part, n: number, d: number, multiply: Times = times): Job {
  const draw = normal(1);
  const numbers = (count: number) => Float32Array.from({ length: count }, () => draw() / Math.sqrt(d));
  const x = numbers(n * d);
  const out = new Float32Array(n * d);
  if (part === "attention") {
    const [k, v] = [numbers(n * d), numbers(n * d)];
    return { run: () => attention(x, k, v, out, n, d, multiply) };
  }
  const inner = part === "recurrence" ? d : INNER * d;
  const [first, second] = [numbers(d * inner), numbers(inner * d)];
  return { run: () => (part === "recurrence" ? recurrence : feedForward)(x, first, second, out, n, d, multiply) };
}

function attention(q: Float32Array, k: Float32Array, v: Float32Array, out: Float32Array, n: number, d: number, times: Times): number {
  const weights = new Float32Array(n);
  out.fill(0);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let j = 0; j < n; j++) {
      let score = 0;
      for (let c = 0; c < d; c++) score += times(q[i * d + c], k[j * d + c]);
      sum += weights[j] = Math.exp(score / Math.sqrt(d));
    }
    for (let j = 0; j < n; j++) {
      const w = weights[j] / sum;
      for (let c = 0; c < d; c++) out[i * d + c] += times(w, v[j * d + c]);
    }
  }
  return out[0] + out[out.length - 1];
}

/** h_t = tanh(x_t W + h_(t−1) U). */
function recurrence(x: Float32Array, w: Float32Array, u: Float32Array, out: Float32Array, n: number, d: number, times: Times): number {
  const before = new Float32Array(d);
  out.fill(0);
  for (let t = 0; t < n; t++) {
    addProduct(out, t * d, x, t * d, w, d, d, times);
    addProduct(out, t * d, before, 0, u, d, d, times);
    for (let c = 0; c < d; c++) before[c] = out[t * d + c] = Math.tanh(out[t * d + c]);
  }
  return out[0] + out[out.length - 1];
}

/** max(0, x W_1) W_2. */
function feedForward(x: Float32Array, w1: Float32Array, w2: Float32Array, out: Float32Array, n: number, d: number, times: Times): number {
  const hidden = new Float32Array(INNER * d);
  out.fill(0);
  for (let t = 0; t < n; t++) {
    hidden.fill(0);
    addProduct(hidden, 0, x, t * d, w1, d, INNER * d, times);
    for (let c = 0; c < hidden.length; c++) if (hidden[c] < 0) hidden[c] = 0;
    addProduct(out, t * d, hidden, 0, w2, INNER * d, d, times);
  }
  return out[0] + out[out.length - 1];
}

const LONG_ENOUGH = 6; // milliseconds, of a clock that may tick only once in each

/** Milliseconds of one run: the best of three, each repeated until the clock can tell. */
export function measure(part: Part, n: number, d: number, now: () => number): number {
  const { run } = job(part, n, d);
  let best = Infinity;
  for (let turn = 0; turn < 3; turn++) {
    const began = now();
    let runs = 0;
    do {
      run();
      runs++;
    } while (now() - began < LONG_ENOUGH);
    best = Math.min(best, (now() - began) / runs);
  }
  return best;
}

/** The power p in y ∝ x^p between two points. */
export const power = (x: readonly [number, number], y: readonly [number, number]): number => Math.log(y[1] / y[0]) / Math.log(x[1] / x[0]);
