/** One row of attention in motion: how long each key's bar is at a moment of a stage. */
export interface Row {
  readonly scores: ArrayLike<number>;
  readonly scaled: ArrayLike<number>;
  /** with what relative positions add */
  readonly placed: ArrayLike<number>;
  readonly mask: ArrayLike<number>;
  readonly weights: ArrayLike<number>;
}

export interface Bar {
  /** length as a share of the room, with its sign */
  readonly share: number;
  /** the number beside it */
  readonly value: number;
  /** 0: gone (masked, or not yet reached) */
  readonly shown: number;
}

const top = (values: ArrayLike<number>, mask?: ArrayLike<number>) =>
  Math.max(1e-9, ...Array.from(values, (x, n) => (mask && !mask[n] ? 0 : Math.abs(x))));
const clamp = (u: number) => Math.max(0, Math.min(1, u));

/** Which key the query meets at a moment of the first stage, with the share of it that is done. */
export const meeting = (keys: number, u: number): number => Math.min(keys, u * keys);

/** The bars at stage `stage` (its number in addresses), share u of it: the query meets key after key, division, distance, mask, softmax. */
export function barsAt(row: Row, stage: number, u: number): Bar[] {
  const { scores, scaled, placed, mask, weights } = row;
  const most = Math.max(top(scores), 1e-9);
  const mix = (from: ArrayLike<number>, to: ArrayLike<number>, max: number, v: number): Bar[] =>
    Array.from(to, (x, n) => ({ share: (from[n] + v * (x - from[n])) / max, value: v >= 1 ? x : from[n] + v * (x - from[n]), shown: 1 }));
  switch (stage) {
    case 1:
      return Array.from(scores, (x, n) => {
        const met = clamp(meeting(scores.length, u) - n);
        return { share: (met * x) / most, value: x, shown: met };
      });
    case 2:
      return mix(scores, scaled, most, clamp(u));
    case 7:
      return mix(scaled, placed, Math.max(most, top(placed)), clamp(u));
    case 3:
      return Array.from(placed, (x, n) => ({ share: x / Math.max(most, top(placed)), value: x, shown: mask[n] ? 1 : 1 - clamp(u) }));
    case 4: {
      // the same bars on another axis: what they were, then their share of one
      const before = top(placed, mask);
      const v = clamp(u);
      return Array.from(weights, (w, n) => ({
        share: mask[n] ? (1 - v) * (placed[n] / before) + v * w : 0,
        value: v >= 1 ? w : (1 - v) * placed[n] + v * w,
        shown: mask[n] ? 1 : 0,
      }));
    }
    default:
      return Array.from(weights, (w, n) => ({ share: w, value: w, shown: mask[n] ? 1 : 0 }));
  }
}

/** The context of a row after the share u of its keys has fallen into it. */
export function fallen(
  weights: ArrayLike<number>,
  values: { readonly cols: number; readonly data: ArrayLike<number> },
  u: number,
): Float32Array {
  const sum = new Float32Array(values.cols);
  const reached = meeting(weights.length, u);
  for (let n = 0; n < weights.length; n++) {
    const part = clamp(reached - n) * weights[n];
    if (part !== 0) for (let d = 0; d < values.cols; d++) sum[d] += part * values.data[n * values.cols + d];
  }
  return sum;
}
