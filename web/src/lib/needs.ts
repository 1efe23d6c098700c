/** Tensors by need out of a file that keeps whole ones: `cross.weights:2.3` is a slice of `cross.weights`, the atlas follows from the weights. */
import type { KindSize } from "../api-types";
import { range } from "./range";
import type { Tensor } from "./safetensors";

/** The tensor of a need, or undefined when the file does not hold it. */
export function resolveNeed(all: ReadonlyMap<string, Tensor>, need: string): Tensor | undefined {
  const known = all.get(need);
  if (known) return known;
  const [name, slice] = need.split(":");
  if (name.endsWith(".atlas")) {
    const weights = resolveNeed(all, need.replace(".atlas", ".weights"));
    return (
      weights && {
        shape: weights.shape,
        data: Uint8Array.from(weights.data, (w) => Math.round(255 * Math.sqrt(Math.max(0, Math.min(1, w))))),
        dtype: "U8",
      }
    );
  }
  const whole = slice === undefined ? undefined : all.get(name);
  if (!whole) return undefined;
  let { shape, data } = whole;
  for (const at of slice.split(".").map(Number)) {
    if (shape.length < 2 || !(at >= 0 && at < shape[0])) return undefined;
    const size = data.length / shape[0];
    data = data.subarray(at * size, (at + 1) * size);
    shape = shape.slice(1);
  }
  return { shape, data, dtype: whole.dtype };
}

/** Weights of every head of the last layer of cross attention; none without it. */
export const lastLayer = (cross: KindSize | undefined): string[] =>
  range(cross?.heads ?? 0).map((head) => `cross.weights:${cross!.layers - 1}.${head}`);
