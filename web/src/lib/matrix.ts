/** Arithmetic on matrices kept row by row in flat arrays: merging, pooling, entropy, rollout. */
import { range } from "./range";
export interface Matrix {
  readonly rows: number;
  readonly cols: number;
  readonly data: Float32Array;
}

export const matrix = (rows: number, cols: number, data: Float32Array = new Float32Array(rows * cols)): Matrix => ({ rows, cols, data });

/** Matrix of nested lists; a null (not finite in JSON) becomes NaN. */
export function fromRows(rows: readonly (readonly (number | null)[])[]): Matrix {
  const cols = rows[0]?.length ?? 0;
  const data = new Float32Array(rows.length * cols);
  rows.forEach((row, r) => row.forEach((value, c) => (data[r * cols + c] = value ?? NaN)));
  return matrix(rows.length, cols, data);
}

const SQUARES = Float32Array.from({ length: 256 }, (_, n) => (n / 255) ** 2);

/** One head out of an atlas `[L, H, Q, K]` of 255·√w in 52 shades, as weights again. */
export function fromAtlas(atlas: { shape: readonly number[]; data: ArrayLike<number> }, layer: number, head: number): Matrix {
  const [, heads, rows, cols] = atlas.shape;
  const from = (layer * heads + head) * rows * cols;
  const data = new Float32Array(rows * cols);
  for (let i = 0; i < data.length; i++) data[i] = SQUARES[atlas.data[from + i]];
  return matrix(rows, cols, data);
}

export const row = (m: Matrix, r: number): Float32Array => m.data.subarray(r * m.cols, (r + 1) * m.cols);
export const column = (m: Matrix, c: number): Float32Array => Float32Array.from({ length: m.rows }, (_, r) => m.data[r * m.cols + c]);

/** Mean or maximum, cell by cell. */
export function combine(all: readonly Matrix[], how: "mean" | "max"): Matrix {
  const { rows, cols } = all[0];
  const out = all[0].data.slice();
  for (const { data } of all.slice(1)) {
    if (how === "mean") for (let i = 0; i < out.length; i++) out[i] += data[i];
    else for (let i = 0; i < out.length; i++) if (data[i] > out[i]) out[i] = data[i];
  }
  if (how === "mean") for (let i = 0; i < out.length; i++) out[i] /= all.length;
  return matrix(rows, cols, out);
}

/** Matrices of one shape under each other. */
export function stack(all: readonly Matrix[]): Matrix {
  const { rows, cols } = all[0] ?? matrix(0, 0);
  const out = matrix(rows * all.length, cols);
  all.forEach((m, i) => out.data.set(m.data, i * rows * cols));
  return out;
}

/** A·B. */
export function product(a: Matrix, b: Matrix): Matrix {
  const [{ data: x }, { data: y, cols }] = [a, b];
  const out = matrix(a.rows, cols);
  for (let r = 0; r < a.rows; r++) {
    const sums = row(out, r);
    for (let k = 0; k < a.cols; k++) {
      const w = x[r * a.cols + k];
      if (w !== 0) for (let c = 0, at = k * cols; c < cols; c++) sums[c] += w * y[at + c];
    }
  }
  return out;
}

/** Rollout of self-attention up to a layer, from that of the layer below: (A_mean + I)/2 times it; rows still sum to 1. */
export function rollout(layer: Matrix, below: Matrix | null): Matrix {
  const mixed = matrix(
    layer.rows,
    layer.cols,
    layer.data.map((w) => w / 2),
  );
  for (let i = 0; i < layer.rows; i++) mixed.data[i * layer.cols + i] += 0.5;
  return below ? product(mixed, below) : mixed;
}

/** Words instead of tokens: weights are summed over the keys of a group and averaged over its queries. */
export function mergeWords(m: Matrix, queries: readonly (readonly number[])[], keys: readonly (readonly number[])[]): Matrix {
  const out = matrix(queries.length, keys.length);
  queries.forEach((qs, r) =>
    keys.forEach((ks, c) => {
      let sum = 0;
      for (const q of qs) for (const k of ks) sum += m.data[q * m.cols + k];
      out.data[r * keys.length + c] = qs.length > 0 ? sum / qs.length : 0;
    }),
  );
  return out;
}

/** Smaller matrix of block maxima (by magnitude), so that a sharp link never vanishes. */
export function maxPool(m: Matrix, rows: number, cols: number): Matrix {
  if (rows >= m.rows && cols >= m.cols) return m;
  const h = Math.min(rows, m.rows);
  const w = Math.min(cols, m.cols);
  const out = matrix(h, w);
  for (let r = 0; r < m.rows; r++) {
    const at = Math.floor((r * h) / m.rows) * w;
    for (let c = 0; c < m.cols; c++) {
      const i = at + Math.floor((c * w) / m.cols);
      const value = m.data[r * m.cols + c];
      if (Math.abs(value) > Math.abs(out.data[i])) out.data[i] = value;
    }
  }
  return out;
}

/** −Σ w·log₂ w of a row of weights, in bits. */
export function entropy(weights: ArrayLike<number>): number {
  let bits = 0;
  for (let i = 0; i < weights.length; i++) if (weights[i] > 0) bits -= weights[i] * Math.log2(weights[i]);
  return bits;
}

/** The indices of the `n` largest values, largest first. */
export function largest(values: ArrayLike<number>, n: number): number[] {
  return range(values.length)
    .sort((a, b) => values[b] - values[a] || a - b)
    .slice(0, n);
}

/** Place of an entry among the others, from 1. */
export function rank(values: ArrayLike<number>, at: number): number {
  let place = 1;
  for (let i = 0; i < values.length; i++) if (values[i] > values[at]) place++;
  return place;
}

export function extent(values: ArrayLike<number>): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  return low <= high ? [low, high] : [0, 0];
}

/** Some rows and columns of a matrix, in the given order. */
export function pick(m: Matrix, rows: readonly number[], cols: readonly number[]): Matrix {
  const out = matrix(rows.length, cols.length);
  rows.forEach((r, i) => cols.forEach((c, j) => (out.data[i * cols.length + j] = m.data[r * m.cols + c])));
  return out;
}

export const transpose = (m: Matrix): Matrix => {
  const out = matrix(m.cols, m.rows);
  for (let r = 0; r < m.rows; r++) for (let c = 0; c < m.cols; c++) out.data[c * m.rows + r] = m.data[r * m.cols + c];
  return out;
};
