/** What stands still on the Map at a moment: the ground, lanes, ribbons, strips and names of one side. */
import { curve, labelled, laneAt, roomFor, type Curve } from "./layout";
import { boxesOf, stripsOf, type Box, type Side, type Strip } from "./plan";
import { chart, colourOf, isFan, offers, reads, stripRect, woven, type Shape, type View } from "./shapes";
import { done } from "./timing";

/** The ground and the encoder: it stays the same while the decoder writes. */
export const under = (view: View): Shape[] => [...ground(view), ...sideOf(view, "encoder")];

/** The decoder as far as the moment has come, and the candidates of its step. */
export function over(view: View): Shape[] {
  const { story, moment } = view;
  const shapes = sideOf(view, "decoder");
  const logits = story.writes.findIndex((box) => box?.part === "logits");
  if (!reads(view) && moment.phase > logits) shapes.push(...offers(view, moment.phase > logits + 1 ? 1 : 0, moment.phase > logits + 1));
  return shapes;
}

export const standing = (view: View): Shape[] => [...under(view), ...over(view)];

function sideOf(view: View, side: Side): Shape[] {
  const { plan, story, moment } = view;
  const shapes = laneLines(view, side);
  const boxes = boxesOf(plan).filter((box) => box.side === side);
  for (const box of boxes) {
    const there = done(story, box, moment, 0) === 1;
    if (isFan(box.part) && there) shapes.push(...woven(view, box, 1));
    if (box.part === "recurrence") shapes.push(...loops(view, box));
    if (box.part === "bridge") shapes.push(...funnel(view, box, there));
    if (box.part === "ffn") shapes.push(...mill(view, box));
  }
  for (const strip of stripsOf(plan)) if (strip.side === side) shapes.push(...vectors(view, strip));
  for (const box of boxes)
    if ((box.part === "score" || box.part === "weights") && done(story, box, moment, 0) === 1) shapes.push(...chart(view, box, 1));
  return [...shapes, ...tokenNames(view, side)];
}

/** Layers, headings and the names of the parts. */
function ground(view: View): Shape[] {
  const { layout, colours, plan, scale } = view;
  const shapes: Shape[] = [];
  const title = Math.min(13, 15 / Math.sqrt(scale));
  for (const { side, layer, rect } of layout.layers) {
    shapes.push({ k: "rect", at: { ...rect, x: rect.x + 2, w: rect.w - 4 }, fill: colours.sunken, round: 8, alpha: 0.75 });
    shapes.push({
      k: "text",
      x: rect.x + rect.w / 2,
      y: rect.y + 14,
      text: view.title(side, layer),
      size: title,
      fill: colours.muted,
      anchor: "middle",
      bold: true,
      wide: rect.w - 6,
    });
  }
  for (const side of ["encoder", "decoder"] as const)
    if (plan.layers[side] === 0) {
      const room = layout.sides[side];
      const x = layout.lanes[side].label + 8;
      shapes.push({ k: "text", x, y: room.y + 18, text: view.title(side, 0), size: title, fill: colours.muted, bold: true });
    }
  const size = 10 / Math.max(1, scale / 1.5);
  for (const side of ["encoder", "decoder"] as const) {
    const room = layout.sides[side];
    const boxes = boxesOf(plan).filter((box) => box.side === side && box.part !== "softmax" && box.part !== "logits");
    const middles = boxes.map((box) => layout.places.get(box.id)!.x + layout.places.get(box.id)!.w / 2);
    let taken = -Infinity;
    boxes.forEach((box, n) => {
      const text = view.part(box.part, side);
      const half = (0.4 * size * (roomFor([text]) - 18)) / 13;
      if (middles[n] - half < taken + 3) return; // no room beside the name before it
      taken = middles[n] + half;
      shapes.push({ k: "text", x: middles[n], y: room.y + room.h - 10, text, size, fill: colourOf(view, box.part), anchor: "middle" });
    });
  }
  return shapes;
}

/** The residual stream: a line for each token, past every box. */
function laneLines(view: View, side: Side): Shape[] {
  const { layout, plan, colours, moment } = view;
  const shapes: Shape[] = [];
  const lanes = layout.lanes[side];
  const own = stripsOf(plan).filter((strip) => strip.side === side && strip.after !== "bridge");
  const end = layout.places.get(own[own.length - 1].id)!;
  const shown = side === "encoder" ? lanes.count : Math.min(lanes.count, moment.step + 1);
  if (side === "decoder" && !reads(view)) {
    const right = layout.output.x - 4;
    const at = { x: lanes.label - 4, y: lanes.top + moment.step * lanes.high, w: right - lanes.label + 4, h: lanes.high };
    shapes.push({ k: "rect", at, fill: colours.soft, round: Math.min(6, lanes.high / 3) });
  }
  for (let n = 0; n < shown; n++) {
    const y = laneAt(lanes, n);
    shapes.push({
      k: "curve",
      at: curve(lanes.label + 4, y, end.x + end.w / 2, y),
      stroke: colours.line,
      width: Math.min(1.2, lanes.high / 5),
    });
  }
  return shapes;
}

/** How many rows of a strip are there, and whether the next is on its way. */
function rowsThere(view: View, strip: Strip): { whole: number; making: number | null } {
  const box = boxesOf(view.plan).find((one) => one.to === strip.id)!;
  const made = done(view.story, box, view.moment, 0.5);
  const count = strip.after === "bridge" ? (view.size(strip.id)?.rows ?? 1) : view.layout.lanes[strip.side].count;
  if (strip.side === "encoder") return { whole: made === 1 ? count : 0, making: made === 0.5 ? 0 : null };
  const { step } = view.moment;
  if (reads(view)) return { whole: 0, making: null };
  return { whole: made === 1 ? step + 1 : step, making: made === 0.5 ? step : null };
}

function vectors(view: View, strip: Strip): Shape[] {
  const { layout, colours } = view;
  const size = view.size(strip.id);
  const at = stripRect(layout, strip, size?.rows ?? 1);
  const { whole } = rowsThere(view, strip);
  const lanes = layout.lanes[strip.side];
  const high = strip.after === "bridge" ? at.h / Math.max(1, size?.rows ?? 1) : lanes.high;
  if (!size) return [{ k: "rect", at: { ...at, x: at.x + 1, w: at.w - 2 }, stroke: colours.line, dash: true, round: 3 }];
  if (whole === 0) return [];
  const shapes: Shape[] = [{ k: "image", id: strip.id, at: { ...at, h: high * whole }, first: 0, rows: whole }];
  // lanes are told apart by gaps of the ground, where there is room; the ground of the step's own lane is its own
  const gap = high >= 5 ? 0.11 * high : 0;
  const ground = strip.layer > 0 && view.plan.layers[strip.side] > 0 ? colours.sunken : colours.surface;
  for (let n = 0; gap > 0 && n < whole; n++) {
    const fill = strip.side === "decoder" && n === view.moment.step ? colours.soft : ground;
    const y = at.y + n * high;
    shapes.push({ k: "rect", at: { x: at.x - 0.5, y, w: at.w + 1, h: gap }, fill });
    shapes.push({ k: "rect", at: { x: at.x - 0.5, y: y + high - gap, w: at.w + 1, h: gap }, fill });
  }
  return shapes;
}

function tokenNames(view: View, side: Side): Shape[] {
  const { layout, colours, moment, scale } = view;
  const lanes = layout.lanes[side];
  const kept = side === "decoder" ? [moment.step] : [];
  const size = Math.min(13, 15 / scale, Math.max(8.5 / scale, 0.64 * lanes.high));
  return labelled(lanes, scale, kept)
    .filter((n) => side === "encoder" || n <= moment.step)
    .map((n) => {
      const on = side === "decoder" && n === moment.step && !reads(view);
      return {
        k: "text",
        x: lanes.label,
        y: laneAt(lanes, n),
        text: view.names[side][n] ?? "",
        size: on ? Math.max(size, 11 / scale) : size,
        fill: on ? colours.accent : colours.ink,
        anchor: "end",
        bold: on,
        wide: lanes.label - layout.sides[side].x - 4,
      };
    });
}

/** A feed-forward box: every lane passes it alone. */
function mill(view: View, box: Box): Shape[] {
  const at = view.layout.places.get(box.id)!;
  const lanes = view.layout.lanes[box.side];
  const shown = box.side === "encoder" ? lanes.count : view.moment.step + 1;
  const w = Math.min(at.w * 0.5, 16);
  return [
    {
      k: "rect",
      at: { x: at.x + (at.w - w) / 2, y: at.y + 1, w, h: Math.max(2, shown * lanes.high - 2) },
      fill: view.colours.surface,
      stroke: colourOf(view, "ffn"),
      round: Math.min(5, w / 2),
      alpha: 0.9,
    },
  ];
}

/** A recurrence: each state reaches into the next, downwards, and upwards too where it is read both ways. */
function loops(view: View, box: Box): Shape[] {
  const { layout, story, moment } = view;
  const made = done(story, box, moment, 0);
  const at = layout.places.get(box.id)!;
  const lanes = layout.lanes[box.side];
  const shown = box.side === "encoder" ? (made === 1 ? lanes.count : 0) : reads(view) ? 0 : made === 1 ? moment.step + 1 : moment.step;
  const stroke = colourOf(view, "recurrence");
  const width = Math.max(0.8, Math.min(2.2, lanes.high / 9));
  const shapes: Shape[] = [];
  const x = at.x + at.w;
  const bow = (from: number, to: number, by: number): Curve => [
    x,
    laneAt(lanes, from),
    x - by,
    laneAt(lanes, from),
    x - by,
    laneAt(lanes, to),
    x,
    laneAt(lanes, to),
  ];
  for (let n = 1; n < shown; n++) {
    shapes.push({ k: "curve", at: bow(n - 1, n, at.w * 0.6), stroke, width });
    if (view.bidirectional && box.side === "encoder")
      shapes.push({ k: "curve", at: bow(n, n - 1, at.w * 1.05), stroke, width: width * 0.7, alpha: 0.5 });
  }
  const bridge = stripsOf(view.plan).find((strip) => strip.after === "bridge");
  if (box.side === "decoder" && bridge && !reads(view)) {
    const from = stripRect(layout, bridge, view.size(bridge.id)?.rows ?? 1);
    shapes.unshift({
      k: "curve",
      at: curve(from.x + from.w, from.y + from.h / 2, x, laneAt(lanes, 0)),
      stroke: view.colours.pulse,
      width: 2.5,
      alpha: 0.75,
    });
  }
  return shapes;
}

/** The whole sentence through one vector. */
function funnel(view: View, box: Box, there: boolean): Shape[] {
  const at = view.layout.places.get(box.id)!;
  const strip = stripsOf(view.plan).find((one) => one.id === box.to)!;
  const to = stripRect(view.layout, strip, view.size(strip.id)?.rows ?? 1);
  const alpha = there ? (view.plan.memory === null ? 0.85 : 0.45) : 0.35;
  const points = [at.x + 2, at.y, at.x + at.w, to.y, at.x + at.w, to.y + to.h, at.x + 2, at.y + at.h];
  const lanes = view.layout.lanes.encoder;
  const ends = view.bidirectional ? [0, lanes.count - 1] : [lanes.count - 1];
  return [
    { k: "poly", points, fill: view.colours.soft, alpha },
    ...(there
      ? ends.map(
          (n): Shape => ({
            k: "curve",
            at: curve(at.x, laneAt(lanes, n), at.x + at.w, to.y + to.h / 2),
            stroke: view.colours.pulse,
            width: 2,
            alpha: 0.8,
          }),
        )
      : []),
  ];
}
