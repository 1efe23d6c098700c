/** One row of attention in motion: the query meets every key, products fall into bars, softmax rescales them, values fall into the context. */
import { useEffect, useRef } from "preact/hooks";
import { pixels, prepare } from "../components/paint";
import { t } from "../i18n";
import { useSize } from "../hooks";
import { shown as printed } from "../lib/arithmetic";
import { barsAt, fallen, meeting } from "../lib/map/motion";
import { maxPool, row, type Matrix } from "../lib/matrix";
import type { Chosen, Head, Stage } from "../screens/inside/head";
import { reach } from "../screens/inside/head";
import { dark } from "../state";
import { coloursOf } from "./paint";
import { useClock } from "./clock";

const LONGEST = 128;
const TOP = 46;

export interface MotionProps {
  head: Head;
  chosen: Chosen;
  stage: Stage;
  /** milliseconds that a stage takes */
  pace: number;
  onPick(key: number): void;
}

export function Motion({ head, chosen, stage, pace, onPick }: MotionProps) {
  const [box, { width }] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const clock = useClock(`${stage} ${chosen.q}`, pace);
  const keys = Math.min(LONGEST, head.cols.length);
  const high = Math.max(4, Math.min(24, 380 / Math.max(1, keys)));
  const height = TOP + keys * high + 54;
  const still = useRef<{ key: string; left: HTMLCanvasElement; query: HTMLCanvasElement } | null>(null);
  useEffect(() => {
    if (!canvas.current || width < 40) return;
    const draw = (u: number) => {
      const wide = stage >= 5 && stage !== 7 ? head.v : head.k;
      const key = `${stage >= 5 && stage !== 7} ${chosen.q} ${dark.value} ${head.rows.length} ${head.k.data[0]}`;
      if (still.current?.key !== key) {
        const scale = { signed: true, sqrt: true, max: reach(wide) };
        const narrow = (m: Matrix) => maxPool(m, m.rows, 96);
        const own = { rows: 1, cols: head.q.cols, data: row(head.q, chosen.q) };
        still.current = {
          key,
          left: pixels(narrow(wide), scale, dark.value),
          query: pixels(narrow(own), { ...scale, max: reach(own) }, dark.value),
        };
      }
      scene(prepare(canvas.current!, width, height), { head, chosen, stage, u, width, high, keys, ...still.current });
    };
    return clock.onFrame(draw);
  }, [width, stage, chosen.q, chosen.k, head, dark.value]);
  const pick = (event: MouseEvent) => {
    const y = event.clientY - canvas.current!.getBoundingClientRect().top - TOP;
    const key = Math.floor(y / high);
    if (key >= 0 && key < keys) onPick(key);
  };
  return (
    <div ref={box} class="map-motion">
      <canvas ref={canvas} role="img" aria-label={t("map.motion_label", { q: head.rows[chosen.q]?.text ?? "" })} onClick={pick} />
      {head.cols.length > LONGEST && <p class="note">{t("map.motion_cut", { n: LONGEST, all: head.cols.length })}</p>}
    </div>
  );
}

interface Frame {
  readonly head: Head;
  readonly chosen: Chosen;
  readonly stage: Stage;
  readonly u: number;
  readonly width: number;
  readonly high: number;
  readonly keys: number;
  readonly left: HTMLCanvasElement;
  readonly query: HTMLCanvasElement;
}

function scene(context: CanvasRenderingContext2D, { head, chosen, stage, u, width, high, keys, left, query }: Frame): void {
  const colours = coloursOf(dark.value);
  const label = Math.min(110, width * 0.2);
  const [x0, w] = [label + 8, width * 0.36];
  const [x1, room] = [x0 + w + 30, width - (x0 + w + 30) - 64];
  const values = stage === 5 || stage === 6;
  const of = (m: Matrix) => row(m, chosen.q);
  const mask = head.mask.subarray(chosen.q * head.scores.cols, (chosen.q + 1) * head.scores.cols);
  const bars = barsAt(
    { scores: of(head.scores), scaled: of(head.scaled), placed: of(head.placed), mask, weights: of(head.weights) },
    stage,
    u,
  );
  const met = stage === 1 || stage === 5 ? meeting(keys, u) : keys;
  const write = (text: string, x: number, y: number, align: CanvasTextAlign, fill: string, bold = false) => {
    context.font = `${bold ? "600 " : ""}${Math.max(9, Math.min(13, 0.62 * high))}px ui-sans-serif, system-ui, sans-serif`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = fill;
    context.fillText(text.length > 18 ? `${text.slice(0, 8)}…${text.slice(-8)}` : text, x, y);
  };
  const tall = 0.74 * high;
  context.drawImage(left, 0, 0, left.width, keys, x0, TOP, w, keys * high);
  context.fillStyle = colours.surface;
  for (let n = 0; high >= 6 && n < keys; n++) context.fillRect(x0 - 1, TOP + n * high + tall, w + 2, high - tall);
  const signed = stage <= 3 || stage === 7;
  const axis = signed ? x1 + room / 2 : x1;
  context.fillStyle = colours.line;
  context.fillRect(axis - 0.5, TOP - 6, 1, keys * high + 6);
  for (let n = 0; n < keys; n++) {
    const y = TOP + n * high;
    const bar = bars[n];
    const on = n === chosen.k;
    if (high >= 9 || on) write(head.cols[n].text, label, y + tall / 2, "right", on ? colours.accent : colours.ink, on);
    if (bar.shown <= 0) continue;
    context.globalAlpha = values && n > met ? 0.55 : bar.shown;
    const length = bar.share * (signed ? room / 2 : room);
    context.fillStyle = on ? colours.pulse : bar.share < 0 ? colours.accent : (colours.parts.cross ?? colours.accent);
    context.fillRect(Math.min(axis, axis + length), y + 1, Math.max(1, Math.abs(length)), Math.max(1, tall - 2));
    if ((high >= 11 || on) && bar.shown === 1)
      write(printed(bar.value, 3).text, width - 4, y + tall / 2, "right", on ? colours.ink : colours.muted, on);
    context.globalAlpha = 1;
  }
  // the query: it waits above, or goes down the keys
  const at = stage === 1 && u < 1 ? TOP + Math.min(keys - 1, Math.floor(met)) * high : 20;
  if (!values) {
    if (stage === 1 && u < 1) falling(context, { x0, w, axis, y: at, tall, part: met - Math.floor(met), fill: colours.pulse });
    context.globalAlpha = stage === 1 && u < 1 ? 0.9 : 1;
    context.drawImage(query, x0, at, w, Math.max(8, tall));
    context.globalAlpha = 1;
    context.strokeStyle = colours.pulse;
    context.lineWidth = 1.5;
    context.strokeRect(x0 - 1, at - 1, w + 2, Math.max(8, tall) + 2);
    write(head.rows[chosen.q].text, label, 20 + tall / 2, "right", colours.pulse, true);
  } else {
    const sum = fallen(of(head.weights), head.v, stage === 5 ? u : 1);
    const image = pixels(
      maxPool({ rows: 1, cols: sum.length, data: sum }, 1, 96),
      { signed: true, sqrt: true, max: reach(head.v) },
      dark.value,
    );
    const y = TOP + keys * high + 16;
    const now = Math.min(keys - 1, Math.floor(met));
    if (stage === 5 && u < 1) falling(context, { x0, w, axis: x0, y: TOP + now * high, tall, part: met - now, fill: colours.pulse, to: y });
    context.drawImage(image, x0, y, w, Math.max(12, tall));
    context.strokeStyle = colours.pulse;
    context.strokeRect(x0 - 1, y - 1, w + 2, Math.max(12, tall) + 2);
    write(t("map.context"), label, y + 7, "right", colours.pulse, true);
  }
  write(t(values ? "map.values" : "map.keys"), x0 + w, 8, "right", colours.muted);
  write(t(stage >= 4 && stage !== 7 ? "map.weights" : "map.scores"), x1 + room, 8, "right", colours.muted);
}

/** Products on their way: from the strip to the axis of the bars, or down into the sum. */
function falling(
  context: CanvasRenderingContext2D,
  f: { x0: number; w: number; axis: number; y: number; tall: number; part: number; fill: string; to?: number },
): void {
  context.fillStyle = f.fill;
  for (let n = 0; n < 14; n++) {
    const from = f.x0 + ((n + 0.5) / 14) * f.w;
    const u = Math.max(0, Math.min(1, f.part * 1.4 - (n % 5) * 0.08));
    context.globalAlpha = 0.8 * (1 - u);
    const x = f.to === undefined ? from + u * (f.axis - from) : from;
    const y = f.to === undefined ? f.y + f.tall / 2 : f.y + u * (f.to - f.y);
    context.fillRect(x - 1.5, y - 1.5, 3, 3);
  }
  context.globalAlpha = 1;
}
