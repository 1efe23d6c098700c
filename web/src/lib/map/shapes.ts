/** What the Map is made of: shapes on a plane. The same shapes make the screen and the file. */
import { row as rowOf, type Matrix } from "../matrix";
import type { Rect } from "./camera";
import { curve, endsOf, laneAt, upTo, type Curve, type Layout } from "./layout";
import { kindOfPart, type Box, type Part, type Plan, type Side, type Strip } from "./plan";
import type { Moment, Story } from "./timing";

export type Shape =
  | {
      readonly k: "rect";
      readonly at: Rect;
      readonly fill?: string;
      readonly stroke?: string;
      readonly dash?: boolean;
      readonly round?: number;
      readonly alpha?: number;
    }
  | { readonly k: "poly"; readonly points: readonly number[]; readonly fill: string; readonly alpha?: number }
  | { readonly k: "curve"; readonly at: Curve; readonly stroke: string; readonly width: number; readonly alpha?: number }
  | { readonly k: "dot"; readonly x: number; readonly y: number; readonly r: number; readonly fill: string; readonly alpha?: number }
  | {
      readonly k: "text";
      readonly x: number;
      readonly y: number;
      readonly text: string;
      readonly size: number;
      readonly fill: string;
      readonly anchor?: "start" | "middle" | "end";
      readonly bold?: boolean;
      readonly alpha?: number;
      readonly wide?: number;
    }
  /** rows of the numbers of a strip; `part`: the share of their width that is shown */
  | {
      readonly k: "image";
      readonly id: string;
      readonly at: Rect;
      readonly first: number;
      readonly rows: number;
      readonly part?: number;
      readonly alpha?: number;
    };

export interface Colours {
  readonly surface: string;
  readonly sunken: string;
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  readonly accent: string;
  readonly soft: string;
  readonly pulse: string;
  readonly parts: Readonly<Partial<Record<Part, string>>>;
}

export interface Candidate {
  readonly text: string;
  readonly p: number;
  readonly logit: number | null;
  readonly chosen: boolean;
}

export interface View {
  readonly plan: Plan;
  readonly layout: Layout;
  readonly story: Story;
  readonly moment: Moment;
  /** how far its phase has come, 0…1 */
  readonly u: number;
  /** how much the camera magnifies */
  readonly scale: number;
  readonly names: Readonly<Record<Side, readonly string[]>>;
  readonly answer: readonly string[];
  readonly candidates: readonly Candidate[];
  readonly colours: Colours;
  readonly bidirectional: boolean;
  /** weights of a kind and layer (from 1), the mean of its heads; null until they are there */
  weights(kind: string, layer: number): Matrix | null;
  /** Luong's scores of the step */
  readonly scores: ArrayLike<number> | null;
  /** rows and columns of a strip's numbers; null until they are there */
  size(strip: string): { rows: number; cols: number } | null;
  title(side: Side, layer: number): string;
  part(part: Part, side: Side): string;
}

export interface Link {
  readonly from: number;
  readonly weight: number;
}
/** The strongest links of a token, no more than `most` and none below `least`. */
export function linksOf(m: Matrix, token: number, most: number, least: number): Link[] {
  if (token >= m.rows) return [];
  const weights = rowOf(m, token);
  const found: Link[] = [];
  for (let from = 0; from < weights.length; from++) {
    const weight = weights[from];
    if (weight < least || (found.length >= most && weight <= found[found.length - 1].weight)) continue;
    const at = found.findIndex((one) => one.weight < weight);
    found.splice(at < 0 ? found.length : at, 0, { from, weight });
    if (found.length > most) found.pop();
  }
  return found;
}

export const colourOf = (view: View, part: Part) => view.colours.parts[part] ?? view.colours.accent;
const mixAlpha = (weight: number) => 0.18 + 0.72 * Math.sqrt(Math.min(1, weight));
export const reads = (view: View) => view.moment.phase < 0;

export const ease = (u: number) => (u < 0.5 ? 2 * u * u : 1 - 2 * (1 - u) ** 2);

/** Curves of attention into one lane, drawn up to the share u of their way. */
function fan(view: View, box: Box, token: number, most: number, least: number, u: number, faint: number): Shape[] {
  const kind = kindOfPart(box.part)!;
  const m = view.weights(kind, Math.max(1, box.layer));
  if (!m) return [];
  const { layout, colours } = view;
  const { from, to, side } = endsOf(view.plan, layout, box);
  const [keys, own] = [layout.lanes[side], layout.lanes[box.side]];
  const stroke = colourOf(view, box.part);
  const widest = Math.max(1.4, Math.min(9, 0.6 * own.high));
  const shapes: Shape[] = [];
  for (const link of linksOf(m, token, most, least).reverse()) {
    const whole = curve(from, laneAt(keys, link.from), to, laneAt(own, token));
    const at = u < 1 ? upTo(whole, u) : whole;
    shapes.push({ k: "curve", at, stroke, width: Math.max(0.7, widest * link.weight), alpha: faint * mixAlpha(link.weight) });
    if (u > 0 && u < 1)
      shapes.push({
        k: "dot",
        x: at[6],
        y: at[7],
        r: 1.2 + 0.4 * widest * Math.sqrt(link.weight),
        fill: colours.pulse,
        alpha: 0.5 + 0.5 * link.weight,
      });
  }
  return shapes;
}

/** What attention draws of all lanes that are there: woven in the encoder, the step's own lane strong in the decoder. */
export function woven(view: View, box: Box, u: number): Shape[] {
  const { lanes } = view.layout;
  const { step } = view.moment;
  if (box.side === "encoder") {
    const most = lanes.encoder.count > 48 ? 1 : 3;
    return Array.from({ length: lanes.encoder.count }, (_, token) => fan(view, box, token, most, 0.12, u, 0.6)).flat();
  }
  // where the decoder stands below, links of every layer cross the picture: fewer of them
  const own = view.layout.folded && box.part !== "dec_self" ? fan(view, box, step, 6, 0.04, u, 0.9) : fan(view, box, step, 24, 0.02, u, 1);
  if (box.part !== "dec_self" || u < 1) return own;
  const before = Array.from({ length: Math.min(step, 16) }, (_, n) => fan(view, box, step - 1 - n, 2, 0.15, 1, 0.22)).flat();
  return [...before, ...own];
}

export const isFan = (part: Part) => kindOfPart(part) !== null && part !== "score" && part !== "weights" && part !== "attentional";

/** The room of a strip; that of the bridge is one vector in the middle. */
export function stripRect(layout: Layout, strip: Strip, rows: number): Rect {
  const at = layout.places.get(strip.id)!;
  if (strip.after !== "bridge") return at;
  const h = Math.min(at.h, rows * Math.max(10, Math.min(18, layout.lanes.encoder.high)));
  return { ...at, y: at.y + (at.h - h) / 2, h };
}

/** Luong's scores or weights of the step over the source, as bars beside its lane. */
export function chart(view: View, box: Box, u: number): Shape[] {
  const { layout, colours } = view;
  const at = layout.places.get(box.id)!;
  const m = view.weights("cross", 1);
  const weights = box.part === "weights";
  const values = weights ? (m && view.moment.step < m.rows ? rowOf(m, view.moment.step) : null) : view.scores;
  if (!values) return [];
  const lanes = layout.lanes.decoder;
  const h = Math.min(84, layout.sides.decoder.h / 4);
  const room = layout.sides.decoder;
  const y = Math.max(room.y + 40, Math.min(room.y + room.h - h - 26, laneAt(lanes, view.moment.step) - h / 2));
  const frame = { x: at.x + 4, y, w: at.w - 8, h };
  const most = Math.max(1e-9, ...Array.from(values, Math.abs));
  const signed = !weights;
  const middle = signed ? y + h / 2 : y + h - 4;
  const bar = (frame.w - 8) / Math.max(1, values.length);
  const shapes: Shape[] = [{ k: "rect", at: frame, fill: colours.surface, stroke: colours.line, round: 6 }];
  Array.from(values).forEach((value, n) => {
    const size = u * (Math.abs(value) / most) * (signed ? h / 2 - 5 : h - 9);
    const top = value >= 0 ? middle - size : middle;
    shapes.push({
      k: "rect",
      at: { x: frame.x + 4 + n * bar, y: top, w: Math.max(0.8, bar * 0.78), h: Math.max(0.6, size) },
      fill: value >= 0 ? colourOf(view, "cross") : colours.accent,
    });
  });
  return shapes;
}

/** The candidates of the step: bars of their logits that become bars of their probabilities. */
export function offers(view: View, soft: number, decided: boolean, u = 1): Shape[] {
  const { layout, colours, candidates, moment, scale } = view;
  const { x, y, w, h } = layout.output;
  const count = candidates.length;
  if (count === 0) return [];
  const high = Math.min(26, h / Math.max(1, count + 1));
  const middle = laneAt(layout.lanes.decoder, moment.step);
  const top = Math.max(y, Math.min(y + h - high * count, middle - (high * count) / 2));
  const name = Math.min(64, Math.max(46, w * 0.36));
  const room = w - name - 46;
  const logits = candidates.map((one) => one.logit ?? Math.log(Math.max(1e-9, one.p)));
  const [low, best] = [Math.min(...logits) - 1, Math.max(...logits)];
  const shapes: Shape[] = [
    { k: "curve", at: curve(x - 6, middle, x + 2, Math.max(top, Math.min(top + high * count, middle))), stroke: colours.line, width: 1 },
    {
      k: "text",
      x: x + w - 2,
      anchor: "end",
      y: top - 10,
      text: view.part(soft > 0 ? "softmax" : "logits", "decoder"),
      size: 11 / Math.sqrt(scale),
      fill: colours.muted,
      bold: true,
    },
  ];
  candidates.forEach((one, n) => {
    const line = top + (n + 0.5) * high;
    const on = decided && one.chosen;
    const share = u * ((1 - soft) * ((logits[n] - low) / (best - low)) + soft * one.p);
    const number =
      soft >= 1 ? `${(100 * one.p).toFixed(one.p < 0.0995 ? 1 : 0)} %` : soft > 0 ? "" : one.logit === null ? "" : one.logit.toFixed(2);
    if (on) shapes.push({ k: "rect", at: { x: x - 2, y: line - high / 2 + 1, w: w + 2, h: high - 2 }, fill: colours.soft, round: 5 });
    shapes.push({
      k: "text",
      x: x + name - 6,
      y: line,
      text: one.text,
      size: Math.min(13, 0.6 * high),
      fill: on ? colours.accent : colours.ink,
      anchor: "end",
      bold: on,
      wide: name - 8,
    });
    shapes.push({
      k: "rect",
      at: { x: x + name, y: line - 0.28 * high, w: Math.max(1, room * share), h: 0.56 * high },
      fill: on ? colours.pulse : colourOf(view, "softmax"),
      round: 2,
    });
    shapes.push({ k: "text", x: x + name + room * share + 4, y: line, text: number, size: Math.min(11, 0.5 * high), fill: colours.muted });
  });
  return shapes;
}
