/** Gradients by distance: what a model answered, and what is left of a gradient with each token more. */
import type { Card, GradientsOut } from "../api-types";

export interface Measured {
  readonly card: Card;
  readonly found: GradientsOut | null;
  readonly problem: string | null;
}

/** The share that survives one token more, from the two longest lengths; null where there is nothing to compare. */
export function power(by: GradientsOut["by_length"]): { short: number; long: number; near: number; far: number; share: number } | null {
  const [short, long] = by.slice(-2);
  if (!long || !(short.first > 0) || !(long.first > 0) || long.length <= short.length) return null;
  return {
    short: short.length,
    long: long.length,
    near: short.first,
    far: long.first,
    share: (long.first / short.first) ** (1 / (long.length - short.length)),
  };
}
