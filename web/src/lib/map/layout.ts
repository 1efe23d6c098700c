/** Where everything of the Map stands: tokens are lanes from left to right, strips columns across them, boxes the room between. */
import type { Rect, Size } from "./camera";
import type { Box, Item, Part, Plan, Side } from "./plan";

export interface Lanes {
  /** of how many tokens */
  readonly count: number;
  /** top of the first, and height of each */
  readonly top: number;
  readonly high: number;
  /** where names of tokens end */
  readonly label: number;
}

export interface Layer {
  readonly side: Side;
  readonly layer: number;
  readonly rect: Rect;
}

export interface Layout extends Size {
  /** whether the decoder stands below the encoder instead of beside it */
  readonly folded: boolean;
  readonly lanes: Readonly<Record<Side, Lanes>>;
  readonly places: ReadonlyMap<string, Rect>;
  readonly layers: readonly Layer[];
  /** room of each side with its heading */
  readonly sides: Readonly<Record<Side, Rect>>;
  /** candidates and the token, at the right end */
  readonly output: Rect;
}

/** Widths in a picture that has room enough. */
const WIDTHS: Readonly<Record<Part | "strip", number>> = {
  strip: 44,
  embedding: 20,
  enc_self: 84,
  dec_self: 66,
  cross: 66,
  ffn: 34,
  recurrence: 40,
  bridge: 120,
  score: 62,
  weights: 62,
  context: 70,
  attentional: 30,
  copy: 44,
  logits: 16,
  softmax: 0,
};
const widthOf = (item: Item) => WIDTHS[item.type === "strip" ? "strip" : item.part];
const HEAD = 40;
const FOOT = 22;
const GAP = 30;
const TALLEST = 30;
/** Below this share of their width things are set in two rows. */
const TIGHT = 0.5;
const LARGEST = 1.9;

const clamp = (value: number, least: number, most: number) => Math.max(least, Math.min(most, value));

/** Room for names of tokens, by an estimate of their widths: wide characters count double. */
export const roomFor = (names: readonly string[]): number =>
  18 + Math.max(0, ...names.map((name) => [...name.slice(0, 24)].reduce((sum, char) => sum + (char > "\u2e7f" ? 13.5 : 7.6), 0)));

/** A layer that is looked at from near: it takes most of the width, the others stay beside it. */
export interface Focus {
  readonly side: Side;
  readonly layer: number;
}
const FOCUS = 0.62;

/** `names`: how wide the names of tokens would be. */
export function layoutOf(
  plan: Plan,
  tokens: Readonly<Record<Side, number>>,
  { width, height }: Size,
  names = 116,
  focus: Focus | null = null,
): Layout {
  const label = clamp(names, 40, clamp(width * 0.1, 46, 130));
  const out = clamp(width * 0.16, 124, 200);
  const items = (side: Side) => plan.items.filter((item) => item.side === side);
  const room = width - 2 * label - out - GAP;
  const folded = room / plan.items.reduce((sum, item) => sum + widthOf(item), 0) < TIGHT;
  const isNear = (item: Item) => focus !== null && item.side === focus.side && item.layer === focus.layer;
  const around = plan.items.filter((item) => !folded || item.side === focus?.side);
  const widths = (near: boolean) => around.filter((item) => isNear(item) === near).reduce((sum, item) => sum + widthOf(item), 0);
  const times = focus && widths(true) > 0 ? Math.max(1, (FOCUS * widths(false)) / ((1 - FOCUS) * widths(true))) : 1;
  const wide = (item: Item) => widthOf(item) * (isNear(item) ? times : 1);
  const natural = (side: Side) => items(side).reduce((sum, item) => sum + wide(item), 0);
  const beside = room / (natural("encoder") + natural("decoder"));
  const scale = (side: Side) => Math.min(LARGEST, folded ? (width - label - (side === "decoder" ? out : 8)) / natural(side) : beside);
  const part = folded ? clamp(tokens.encoder / Math.max(1, tokens.encoder + tokens.decoder), 0.38, 0.62) : 1;
  const encoder = { x: 0, y: 0, w: folded ? width : label + scale("encoder") * natural("encoder"), h: height * part };
  const spare = folded ? 0 : Math.max(0, width - encoder.w - GAP - label - out - scale("decoder") * natural("decoder"));
  const left = folded ? 0 : encoder.w + GAP + spare / 2;
  const decoder = { x: left, y: folded ? encoder.h : 0, w: width - left, h: folded ? height - encoder.h : height };
  const sides = { encoder, decoder };
  const lanes = { encoder: lanesOf(encoder, tokens.encoder, label), decoder: lanesOf(decoder, tokens.decoder, label) };
  const places = new Map<string, Rect>();
  for (const side of ["encoder", "decoder"] as const) {
    const { top, high, count } = lanes[side];
    let x = lanes[side].label + 6;
    for (const item of items(side)) {
      const w = wide(item) * scale(side);
      places.set(item.id, { x, y: top, w, h: high * count });
      x += w;
    }
  }
  const end = Math.max(...items("decoder").map((item) => places.get(item.id)!.x + places.get(item.id)!.w));
  return {
    width,
    height,
    folded,
    lanes,
    places,
    layers: layersOf(plan, places, sides),
    sides,
    output: { x: end + 10, y: decoder.y + HEAD, w: Math.max(60, width - end - 14), h: decoder.h - HEAD - FOOT },
  };
}

function lanesOf(room: Rect, count: number, label: number): Lanes {
  const free = room.h - HEAD - FOOT;
  const high = Math.min(TALLEST, free / Math.max(1, count));
  return { count, high, top: room.y + HEAD + (free - high * count) / 2, label: room.x + label };
}

function layersOf(plan: Plan, places: ReadonlyMap<string, Rect>, sides: Readonly<Record<Side, Rect>>): Layer[] {
  const found = new Map<string, Layer>();
  for (const item of plan.items) {
    if (item.layer === 0 || plan.layers[item.side] === 0) continue;
    const [key, { x, w }] = [`${item.side}.${item.layer}`, places.get(item.id)!];
    const room = sides[item.side];
    const old = found.get(key)?.rect;
    const rect = { x: old?.x ?? x, y: room.y + 4, w: x + w - (old?.x ?? x), h: room.h - 8 };
    found.set(key, { side: item.side, layer: item.layer, rect });
  }
  return [...found.values()];
}

/** The middle of a token's lane. */
export const laneAt = ({ top, high }: Lanes, token: number): number => top + (token + 0.5) * high;

/** The lane at a height of the picture; null outside. */
export function laneOf({ top, high, count }: Lanes, y: number): number | null {
  const n = Math.floor((y - top) / high);
  return n >= 0 && n < count ? n : null;
}

/** A curve from a point to another, level at both ends: its four points. */
export type Curve = readonly [number, number, number, number, number, number, number, number];
export function curve(x0: number, y0: number, x1: number, y1: number): Curve {
  const bend = Math.max(12, Math.abs(x1 - x0) / 2);
  return x1 >= x0
    ? [x0, y0, x0 + bend, y0, x1 - bend, y1, x1, y1]
    : [x0, y0, x0 + 40, y0 + 0.45 * (y1 - y0), x1 - 60, y1 - 0.3 * (y1 - y0), x1, y1];
}

/** The first part of a curve, up to the share u of it (de Casteljau). */
export function upTo([ax, ay, bx, by, cx, cy, dx, dy]: Curve, u: number): Curve {
  const mix = (p: number, q: number) => p + u * (q - p);
  const [abx, aby, bcx, bcy, cdx, cdy] = [mix(ax, bx), mix(ay, by), mix(bx, cx), mix(by, cy), mix(cx, dx), mix(cy, dy)];
  const [x1, y1, x2, y2] = [mix(abx, bcx), mix(aby, bcy), mix(bcx, cdx), mix(bcy, cdy)];
  return [ax, ay, abx, aby, x1, y1, mix(x1, x2), mix(y1, y2)];
}

/** Where the links of a box begin and end: its own sides, for attention to the encoder the strip that it looks at. */
export function endsOf(plan: Plan, layout: Layout, box: Box): { from: number; to: number; side: Side } {
  const own = layout.places.get(box.id)!;
  const far = box.part === "cross" || box.part === "context" || box.part === "copy";
  const memory = far && plan.memory !== null ? layout.places.get(plan.memory)! : null;
  const from = memory ? memory.x + memory.w : own.x;
  return { from, to: own.x + own.w, side: far ? "encoder" : box.side };
}

/** Which labels have room: all, or every so many, and always those of `kept`. */
export function labelled({ count, high }: Lanes, scale: number, kept: readonly number[]): number[] {
  const every = Math.max(1, Math.ceil(11 / (high * scale)));
  const near = (n: number) => kept.some((one) => one !== n && Math.abs(one - n) < every);
  return Array.from({ length: count }, (_, n) => n).filter((n) => kept.includes(n) || (n % every === 0 && !near(n)));
}

/** Between two pictures of one model and one size: everything on its way from its old place to its new one. */
export function mixed(from: Layout, to: Layout, u: number): Layout {
  const same = from.places.size === to.places.size && [...to.places.keys()].every((id) => from.places.has(id));
  if (u >= 1 || !same || from.width !== to.width || from.height !== to.height || from.folded !== to.folded) return to;
  const e = u < 0.5 ? 2 * u * u : 1 - 2 * (1 - u) ** 2;
  const mix = (a: number, b: number) => a + e * (b - a);
  const rect = (a: Rect, b: Rect): Rect => ({ x: mix(a.x, b.x), y: mix(a.y, b.y), w: mix(a.w, b.w), h: mix(a.h, b.h) });
  const lanes = (side: Side): Lanes => ({ ...to.lanes[side], label: mix(from.lanes[side].label, to.lanes[side].label) });
  return {
    ...to,
    lanes: { encoder: lanes("encoder"), decoder: lanes("decoder") },
    places: new Map([...to.places].map(([id, at]) => [id, rect(from.places.get(id)!, at)])),
    layers: to.layers.map((layer, n) => ({ ...layer, rect: rect(from.layers[n].rect, layer.rect) })),
    sides: { encoder: rect(from.sides.encoder, to.sides.encoder), decoder: rect(from.sides.decoder, to.sides.decoder) },
    output: rect(from.output, to.output),
  };
}
