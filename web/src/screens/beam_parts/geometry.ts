/** Where nodes and lines of the drawn tree stand, in pixels at full size. */
import type { BeamDocument } from "../../api-types";
import { fixed } from "../../lib/format";
import { shorten, widthOf } from "../../lib/labels";
import { rowsOf, sharesOf, twinsOf, type Limb } from "../../lib/tree";

export const ROW = 36;
export const HEIGHT = 31;
const GAP = 46;
const NARROW = 22;
const TOP = 34;
const SIDE = 10;
const PAD = 9;
const CHARS = 16;

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly label: string;
  /** it begins with a space, and a sibling differs from it in that alone */
  readonly space: boolean;
  readonly figure: string;
}
export interface Geometry {
  readonly rows: Float64Array;
  readonly boxes: readonly Box[];
  /** left and width of each step's column; the root's is the first */
  readonly columns: readonly { readonly x: number; readonly width: number }[];
  readonly edges: readonly string[];
  /** thickness of the line to each node */
  readonly strokes: readonly number[];
  readonly width: number;
  readonly height: number;
}

/** The text of a node: without its space, a byte in short. */
function labelOf(limb: Limb): string {
  if (limb.counted.length > 0) return `+${limb.counted.length}`;
  const byte = /^<0x(..)>$/.exec(limb.text);
  return byte ? `<${byte[1]}>` : shorten(limb.text.trim() || "␣", CHARS);
}

/** Columns stand closer where `room` is too narrow for the whole tree. */
export function geometryOf(tree: BeamDocument, limbs: readonly Limb[], spine: ReadonlySet<number>, room = Infinity): Geometry {
  const rows = rowsOf(limbs, spine);
  const shares = sharesOf(tree.nodes);
  const twins = twinsOf(limbs);
  const texts = limbs.map((limb, i) => {
    const label = labelOf(limb);
    const space = twins.has(i) && limb.text.startsWith(" ");
    const figure = limb.n === null || limb.t < 0 || limb.counted.length > 0 ? "" : fixed(tree.nodes[limb.n].norm, 2);
    return {
      label,
      space,
      figure,
      width: Math.ceil(Math.max((widthOf(label) + (space ? 0.6 : 0)) * 14, widthOf(figure) * 11, 14)) + 2 * PAD,
    };
  });
  const steps = limbs.reduce((most, limb) => Math.max(most, limb.t), -1);
  const widths = new Array<number>(steps + 2).fill(0);
  limbs.forEach((limb, i) => (widths[limb.t + 1] = Math.max(widths[limb.t + 1], texts[i].width)));
  const free = room - 2 * SIDE - widths.reduce((sum, width) => sum + width, 0);
  const gap = Math.max(NARROW, Math.min(GAP, free / Math.max(1, widths.length - 1)));
  const columns: { x: number; width: number }[] = [];
  let x = SIDE;
  for (const width of widths) {
    columns.push({ x, width });
    x += width + gap;
  }
  const boxes = limbs.map(
    (limb, i): Box => ({
      ...texts[i],
      x: columns[limb.t + 1].x + (columns[limb.t + 1].width - texts[i].width) / 2,
      y: TOP + (rows[i] + 0.5) * ROW,
    }),
  );
  const edges = limbs.map((limb, i) => {
    if (limb.parent < 0) return "";
    const from = boxes[limb.parent];
    const column = columns[limb.t];
    const [start, turn, end] = [from.x + from.width, column.x + column.width, columns[limb.t + 1].x];
    const middle = (turn + end) / 2;
    return `M${start} ${from.y}H${turn}C${middle} ${from.y} ${middle} ${boxes[i].y} ${end} ${boxes[i].y}H${boxes[i].x}`;
  });
  const share = (limb: Limb) =>
    limb.counted.length > 0 ? limb.counted.reduce((sum, n) => sum + shares[n], 0) : limb.n === null ? 0 : shares[limb.n];
  return {
    rows,
    boxes,
    columns,
    edges,
    strokes: limbs.map((limb) => 1.25 + 7.75 * share(limb)),
    width: x - gap + SIDE,
    height: TOP + ((limbs.length > 0 ? Math.max(...rows) : 0) + 1) * ROW + 10,
  };
}
