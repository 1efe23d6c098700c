/** Which dimensions of a table of positions are on show, and how long their waves are. */

const MOST = 6;

/** Dimensions of an address such as `1,9,17`, which count from 1; null when it names none there is. */
export function readDimensions(text: string | undefined, width: number): number[] | null {
  const found = (text ?? "")
    .split(",")
    .map((part) => Number(part) - 1)
    .filter((n) => Number.isInteger(n) && n >= 0 && n < width);
  return found.length > 0 ? [...new Set(found)].slice(0, MOST) : null;
}

/** A fast wave, two slower ones and a very slow one: even dimensions, so that all are sines. */
export function defaultDimensions(width: number): number[] {
  const even = (share: number) => Math.min(width - 1, 2 * Math.round((share * width) / 2));
  return [...new Set([0, even(0.125), even(0.25), even(0.5)])];
}

/** One dimension more, or one less; never none, and the oldest leaves when there are too many. */
export function toggled(dims: readonly number[], n: number): number[] {
  if (!dims.includes(n)) return [...dims, n].slice(-MOST);
  return dims.length > 1 ? dims.filter((d) => d !== n) : [...dims];
}

/** Positions after which a sinusoidal dimension repeats: 2π · 10000^(2i / D). */
export const wavelength = (dimension: number, width: number): number => 2 * Math.PI * 10000 ** ((2 * Math.floor(dimension / 2)) / width);
