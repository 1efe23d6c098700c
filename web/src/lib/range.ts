/** Whole numbers in a row. */

/** `count` numbers from `from` on. */
export const range = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);
