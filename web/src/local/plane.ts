/** The plane in which states spread most: their mean and two principal axes, as `Plane` of src/jumok/explain/states.py. */
import { range } from "../lib/range";

export interface Plane {
  /** how much of all that spreads lies along each axis */
  readonly shares: readonly [number, number];
  /** where a state lies, given by its code */
  place(code: ArrayLike<number>): [number, number];
}

/** The plane of codes that lie one below the other, each so wide. */
export function planeOf(codes: Float32Array, width: number): Plane {
  const rows = range(codes.length / width).map((n) => unit(codes.subarray(n * width, (n + 1) * width)));
  const mean = new Float64Array(width);
  for (const row of rows) row.forEach((x, i) => (mean[i] += x / rows.length));
  const spread = range(width).map(() => new Float64Array(width)); // (D, D)
  for (const row of rows)
    for (let i = 0; i < width; i++) for (let j = 0; j < width; j++) spread[i][j] += ((row[i] - mean[i]) * (row[j] - mean[j])) / rows.length;
  const { values, vectors } = eigen(spread);
  const order = range(width).sort((a, b) => values[b] - values[a]);
  const whole = values.reduce((sum, one) => sum + one, 0);
  const share = (n: number) => (whole > 0 && n < width ? Math.max(values[order[n]], 0) / whole : 0);
  const axes = [0, 1].map((n) => (n < width ? upright(vectors.map((row) => row[order[n]])) : new Array<number>(width).fill(0)));
  return {
    shares: [share(0), share(1)],
    place(code) {
      const point = unit(code);
      const along = (axis: readonly number[]) => axis.reduce((sum, a, i) => sum + a * (point[i] - mean[i]), 0);
      return [along(axes[0]), along(axes[1])];
    },
  };
}

/** A code as a vector of length 1. */
function unit(code: ArrayLike<number>): Float64Array {
  const point = Float64Array.from(code);
  const size = Math.hypot(...point) || 1;
  return point.map((x) => x / size);
}

/** The axis, turned so that its largest number is positive: everyone draws the same map. */
function upright(axis: readonly number[]): number[] {
  const strongest = axis.reduce((best, x) => (Math.abs(x) > Math.abs(best) ? x : best), 0);
  return axis.map((x) => (strongest < 0 ? -x : x));
}

/** Eigenvalues of a symmetric matrix and its eigenvectors as columns, by Jacobi's rotations: each makes one number beside the diagonal 0. */
export function eigen(matrix: readonly Float64Array[]): { values: number[]; vectors: Float64Array[] } {
  const n = matrix.length;
  const a = matrix.map((row) => row.slice());
  const vectors = range(n).map((i) => new Float64Array(n).fill(1, i, i + 1));
  const beside = () => a.reduce((sum, row, i) => sum + row.reduce((all, x, j) => all + (i === j ? 0 : x * x), 0), 0);
  const enough = 1e-24 * a.reduce((sum, row) => sum + row.reduce((all, x) => all + x * x, 0), 0);
  for (let sweep = 0; sweep < 50 && beside() > enough; sweep++)
    for (let p = 0; p < n - 1; p++)
      for (let q = p + 1; q < n; q++) {
        if (a[p][q] === 0) continue;
        const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = t * c;
        const turn = (row: Float64Array) => {
          [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
        };
        for (let i = 0; i < n; i++) {
          turn(a[i]);
          turn(vectors[i]);
        }
        for (let i = 0; i < n; i++) [a[p][i], a[q][i]] = [c * a[p][i] - s * a[q][i], s * a[p][i] + c * a[q][i]];
      }
  return { values: a.map((row, i) => row[i]), vectors };
}
