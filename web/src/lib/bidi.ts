/** Order in which the tokens of a side are seen. */
import { range } from "./range";

/** Logical indices in the order of the eye, left to right: reversed for a right-to-left side unless the reader asks for logical order. */
export function visualOrder(count: number, dir: "ltr" | "rtl", logical = false): number[] {
  const order = range(count);
  return dir === "rtl" && !logical ? order.reverse() : order;
}

/** The logical index that an arrow key reaches: arrows follow what is seen. */
export function arrow(at: number, by: -1 | 1, count: number, dir: "ltr" | "rtl", logical = false): number {
  const step = dir === "rtl" && !logical ? -by : by;
  return Math.max(0, Math.min(count - 1, at + step));
}
