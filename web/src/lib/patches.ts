/** A picture on its way to tokens, as jumok does it: cut, flatten, scale to −1…1, times one matrix, plus a place. */
import { normal } from "./chance";
import { range } from "./range";

/** Patches in rows from the top left; each is patch·patch·3 numbers 0…255, row after row, red green blue. `rgba` is what a canvas gives. */
export function cut(rgba: ArrayLike<number>, side: number, patch: number): Uint8Array[] {
  const columns = Math.floor(side / patch);
  return range(columns * columns).map((place) => {
    const [top, left] = [Math.floor(place / columns) * patch, (place % columns) * patch];
    const found = new Uint8Array(patch * patch * 3);
    let at = 0;
    for (let y = top; y < top + patch; y++)
      for (let x = left; x < left + patch; x++) for (let c = 0; c < 3; c++) found[at++] = rgba[(y * side + x) * 4 + c];
    return found;
  });
}

/** Numbers of a patch as the matrix takes them. */
export const scaled = (patch: ArrayLike<number>): Float32Array => Float32Array.from(patch, (value) => value / 127.5 - 1);

/** A matrix (numbers, width) that nobody has trained. */
export function freshMatrix(numbers: number, width: number, seed: number): Float32Array {
  const draw = normal(seed);
  return Float32Array.from({ length: numbers * width }, () => draw() / Math.sqrt(numbers));
}

/** x W. */
export function project(x: ArrayLike<number>, w: Float32Array, width: number): Float32Array {
  const out = new Float32Array(width);
  for (let i = 0; i < x.length; i++) for (let d = 0; d < width; d++) out[d] += x[i] * w[i * width + d];
  return out;
}

/** The sinusoidal row of a place: sin, cos, sin, cos, … */
export const placeRow = (place: number, width: number): Float32Array =>
  Float32Array.from({ length: width }, (_, d) => {
    const angle = place / 10000 ** ((d - (d % 2)) / width);
    return d % 2 ? Math.cos(angle) : Math.sin(angle);
  });

/** A small drawing as RGBA: a sun, a house and grass under a blue sky. */
export function drawing(side: number): Uint8ClampedArray {
  const rgba = new Uint8ClampedArray(side * side * 4);
  const colourAt = (x: number, y: number): readonly [number, number, number] => {
    if ((x - 0.78) ** 2 + (y - 0.22) ** 2 < 0.02) return [250, 200, 40];
    if (y > 0.84) return [70, 150, 70];
    if (x > 0.44 && x < 0.56 && y > 0.66) return [90, 60, 40]; // the door
    if (x > 0.25 && x < 0.75 && y > 0.5) return [200, 90, 70];
    if (y > 0.28 && y <= 0.5 && Math.abs(x - 0.5) < (y - 0.28) * 1.4) return [120, 50, 50]; // the roof
    return [150, 200, 240];
  };
  for (let i = 0; i < side * side; i++) rgba.set([...colourAt(((i % side) + 0.5) / side, (Math.floor(i / side) + 0.5) / side), 255], 4 * i);
  return rgba;
}
