/** The logical index that an arrow key reaches: arrows follow what is seen, so they turn round in a right-to-left side. */
export const arrow = (at: number, by: -1 | 1, count: number, dir: "ltr" | "rtl"): number =>
  Math.max(0, Math.min(count - 1, at + (dir === "rtl" ? -by : by)));
