/** What moves on the Map: the bright pulse of a phase, as far as it has come. */
import { curve, laneAt, upTo, type Curve } from "./layout";
import { stripsOf, type Box } from "./plan";
import { chart, ease, isFan, offers, stripRect, woven, type Shape, type View } from "./shapes";

/** The bright pulse of the phase: what its box does, as far as it has come. */
export function moving(view: View): Shape[] {
  const { plan, layout, story, moment, u, colours } = view;
  const box = moment.phase < 0 ? story.reads[story.reads.length + moment.phase] : story.writes[moment.phase];
  if (!box) return token(view);
  if (box.part === "logits") return offers(view, 0, false, ease(u));
  if (box.part === "softmax") return offers(view, ease(u), false);
  const shapes: Shape[] = [];
  const early = Math.min(1, u / 0.65);
  if (isFan(box.part)) shapes.push(...woven(view, box, ease(early) || 0.001));
  else if (box.part === "score" || box.part === "weights") return chart(view, box, ease(u));
  else shapes.push(...pulses(view, box, early));
  const strip = stripsOf(plan).find((one) => one.id === box.to);
  const size = strip && view.size(strip.id);
  const fresh = Math.max(0, (u - 0.5) / 0.5);
  if (!strip || !size || fresh === 0) return shapes;
  const at = stripRect(layout, strip, size.rows);
  if (box.side === "encoder") shapes.push({ k: "image", id: strip.id, at, first: 0, rows: size.rows, part: fresh, alpha: 0.95 });
  else {
    const { top, high } = layout.lanes.decoder;
    const own = { x: at.x, y: top + (moment.step + 0.11) * high, w: at.w, h: 0.78 * high };
    shapes.push({ k: "image", id: strip.id, at: own, first: moment.step, rows: 1, part: fresh });
  }
  const x = at.x + at.w * fresh;
  shapes.push({
    k: "curve",
    at: curve(x, at.y, x, at.y + at.h),
    stroke: colours.pulse,
    width: 1.5,
    alpha: (box.side === "encoder" ? 0.8 : 0) * (1 - fresh),
  });
  return shapes;
}

/** Dots that run through a box: along their lane, or from state to state. */
function pulses(view: View, box: Box, u: number): Shape[] {
  const { layout, moment, colours } = view;
  const at = layout.places.get(box.id)!;
  const lanes = layout.lanes[box.side];
  const r = Math.max(1.6, Math.min(4.5, 0.2 * lanes.high));
  const tokens = box.side === "decoder" ? [moment.step] : Array.from({ length: lanes.count }, (_, n) => n);
  if (box.part === "bridge") {
    const strip = stripsOf(view.plan).find((one) => one.id === box.to)!;
    const to = stripRect(layout, strip, view.size(strip.id)?.rows ?? 1);
    const all = tokens.map((n) => upTo(curve(at.x, laneAt(lanes, n), at.x + at.w, to.y + to.h / 2), ease(u)));
    return all.map((one): Shape => ({ k: "dot", x: one[6], y: one[7], r, fill: colours.pulse, alpha: 0.9 }));
  }
  if (box.part === "recurrence") {
    // the state runs along the sentence; in the decoder it comes from the step before
    const place = box.side === "encoder" ? u * (lanes.count - 1) : Math.max(0, moment.step - 1 + u);
    const y = lanes.top + (place + 0.5) * lanes.high;
    const swing = at.w * 0.45 * Math.abs(Math.sin(Math.PI * place));
    const dots: Shape[] = [{ k: "dot", x: at.x + at.w - swing, y, r: r * 1.4, fill: colours.pulse }];
    if (view.bidirectional && box.side === "encoder")
      dots.push({
        k: "dot",
        x: at.x + at.w - swing * 1.8,
        y: lanes.top + (lanes.count - 0.5 - place) * lanes.high,
        r: r * 1.2,
        fill: colours.pulse,
        alpha: 0.6,
      });
    const through: Shape[] = tokens
      .filter((n) => box.side === "decoder" || n <= place)
      .map((n) => ({ k: "dot", x: at.x + at.w * 0.2, y: laneAt(lanes, n), r: r * 0.6, fill: colours.pulse, alpha: 0.5 }));
    return [...through, ...dots];
  }
  const from = box.part === "embedding" ? lanes.label : at.x;
  return tokens.map((n) => ({
    k: "dot",
    x: from + (at.x + at.w - from) * ease(u),
    y: laneAt(lanes, n),
    r,
    fill: colours.pulse,
    alpha: 0.95,
  }));
}

/** The token goes from the candidates to the lane of the next step. */
function token(view: View): Shape[] {
  const { layout, moment, u, colours, answer, scale } = view;
  const lanes = layout.lanes.decoder;
  const text = answer[moment.step] ?? "";
  const next = Math.min(lanes.count - 1, moment.step + 1);
  if (u <= 0 || u >= 1 || moment.step + 1 >= lanes.count) return [];
  const start = layout.output;
  const way: Curve = [
    start.x + 30,
    laneAt(lanes, moment.step),
    start.x - 10,
    layout.sides.decoder.y + layout.sides.decoder.h,
    lanes.label + 60,
    layout.sides.decoder.y + layout.sides.decoder.h,
    lanes.label,
    laneAt(lanes, next),
  ];
  const at = upTo(way, ease(u));
  return [
    { k: "curve", at, stroke: colours.pulse, width: 1.5, alpha: 0.7 },
    { k: "dot", x: at[6], y: at[7], r: 4, fill: colours.pulse },
    { k: "text", x: at[6], y: at[7] - 12, text, size: 14 / Math.sqrt(scale), fill: colours.accent, anchor: "middle", bold: true },
  ];
}
