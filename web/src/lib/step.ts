/** The step of decoding that every screen shows: the target token of the address (`q`). */

/** The step of an address among so many, else the one in the middle. */
export function stepOf(text: string | undefined, steps: number): number {
  const n = Number(text ?? NaN);
  return Number.isInteger(n) && n >= 0 && n < steps ? n : Math.max(0, Math.floor((steps - 1) / 2));
}

/** The step of a search that an address asks for: that of `st`, else the one that decides token `q`, else the last. */
export function searchStep(st: string | undefined, q: string | undefined, steps: number): number {
  const token = /^\d+$/.test(q ?? "") ? Number(q) + 1 : steps;
  return Math.max(0, Math.min(steps, Math.round(Number(st ?? token)) || 0));
}
