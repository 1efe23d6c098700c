/** Links between two strips of tokens, drawn as curves: strong ones faint, those of the marked token clear. A click may cut one, a drag lead it to another token. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { largest, type Matrix } from "../lib/matrix";

export interface Mark {
  readonly side: "source" | "target";
  readonly token: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}
interface Curve {
  readonly q: number;
  readonly k: number;
  readonly d: string;
  /** its end at the target token */
  readonly to: Point;
  readonly width: number;
  readonly on: boolean;
  readonly strength: number;
}

interface RibbonsProps {
  matrix: Matrix | null;
  mark: Mark | null;
  max?: number;
  signed?: boolean;
  dependency?: unknown;
  /** what a click on the link from target token `q` to source token `k` does, and how it is called */
  onCut?(q: number, k: number): void;
  cutName?(q: number, k: number): string;
  /** what dragging that link onto source token `to` does */
  onLead?(q: number, k: number, to: number): void;
}

/** A link on its way to another source token: where the pointer is, and the token under it. */
interface Pull {
  readonly curve: Curve;
  readonly x: number;
  readonly y: number;
  readonly over: number | null;
}
const FAR = 6; // pixels: less is a click

/** Rows are target tokens, columns source tokens; `max` is the value of the widest ribbon. Stands between two `.tokens` strips in one parent. */
export function Ribbons({ matrix, mark, max = 1, signed = false, dependency, onCut, cutName, onLead }: RibbonsProps) {
  const svg = useRef<SVGSVGElement>(null);
  const [curves, setCurves] = useState<readonly Curve[]>([]);
  const [turn, setTurn] = useState(0);
  const grip = useRef<{ curve: Curve; x: number; y: number } | null>(null);
  const led = useRef(false); // the click that ends a drag cuts nothing
  const [pull, setPull] = useState<Pull | null>(null);

  /** Where the end of a pulled link lies: on the token under the pointer, else at the pointer. */
  const pulled = (curve: Curve, event: PointerEvent): Pull => {
    const home = svg.current!.getBoundingClientRect();
    const found = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>("[data-token]");
    const token = found && svg.current!.previousElementSibling!.contains(found) ? found : null;
    if (!token) return { curve, x: event.clientX - home.left, y: event.clientY - home.top, over: null };
    const box = (token.querySelector(".token-text") ?? token).getBoundingClientRect();
    return { curve, x: box.left + box.width / 2 - home.left, y: box.bottom - home.top, over: Number(token.dataset.token) };
  };
  const onMove = (event: PointerEvent) => {
    const from = grip.current;
    if (from && (pull || Math.hypot(event.clientX - from.x, event.clientY - from.y) > FAR)) setPull(pulled(from.curve, event));
  };
  const onUp = (event: PointerEvent) => {
    const from = grip.current;
    grip.current = null;
    if (!from || !pull) return;
    setPull(null);
    led.current = true;
    const { over } = pulled(from.curve, event);
    if (over !== null && over !== from.curve.k) onLead?.(from.curve.q, from.curve.k, over);
  };
  const onCancel = () => {
    grip.current = null;
    setPull(null);
  };
  const onDown = (curve: Curve) => (event: PointerEvent) => {
    if (event.button !== 0) return;
    led.current = false;
    grip.current = { curve, x: event.clientX, y: event.clientY };
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
  };

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setTurn((n) => n + 1));
    observer.observe(svg.current!.parentElement!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const node = svg.current!;
    const [above, below] = [node.previousElementSibling, node.nextElementSibling];
    if (!above || !below) return;
    // strips never wrap: what does not fit is set closer, and what still does not fit is scrolled to
    const strips = node.parentElement!;
    strips.classList.remove("dense");
    if (strips.scrollWidth > strips.clientWidth + 1) strips.classList.add("dense");
    if (!matrix) return setCurves([]);
    const home = node.getBoundingClientRect();
    const ends = (strip: Element, edge: "top" | "bottom") => {
      const places = new Map<number, { x: number; y: number }>();
      for (const box of strip.querySelectorAll<HTMLElement>("[data-token]")) {
        const place = (box.querySelector(".token-text") ?? box).getBoundingClientRect();
        places.set(Number(box.dataset.token), { x: place.left + place.width / 2 - home.left, y: place[edge] - home.top });
      }
      return places;
    };
    const sources = ends(above, "bottom");
    const targets = ends(below, "top");
    const list: Curve[] = [];
    const add = (q: number, k: number, on: boolean) => {
      const [from, to] = [sources.get(k), targets.get(q)];
      const strength = matrix.data[q * matrix.cols + k] / max;
      if (!from || !to || !(strength > (on ? 0.02 : 0.12))) return;
      list.push({
        q,
        k,
        d: bend(from, to),
        to,
        width: 1 + 6 * Math.min(1, strength),
        on,
        strength,
      });
    };
    for (let q = 0; q < matrix.rows; q++)
      for (const k of largest(matrix.data.subarray(q * matrix.cols, (q + 1) * matrix.cols), 3)) if (!isOn(mark, q, k)) add(q, k, false);
    if (mark?.side === "target" && mark.token < matrix.rows) for (let k = 0; k < matrix.cols; k++) add(mark.token, k, true);
    if (mark?.side === "source" && mark.token < matrix.cols) for (let q = 0; q < matrix.rows; q++) add(q, mark.token, true);
    setCurves(list);
  }, [matrix, mark?.side, mark?.token, max, turn, dependency]);

  return (
    <svg
      class={`ribbons${signed ? " signed" : ""}${onCut ? " cuttable" : ""}${pull ? " pulling" : ""}`}
      ref={svg}
      role="presentation"
      onPointerMove={onLead && onMove}
      onPointerUp={onLead && onUp}
      onPointerCancel={onLead && onCancel}
    >
      {curves.map((curve, i) => (
        <g key={i} onClick={onCut && (() => !led.current && onCut(curve.q, curve.k))}>
          <path
            class={curve.on ? "on" : undefined}
            d={curve.d}
            stroke-width={curve.width}
            stroke-opacity={
              pull?.curve === curve
                ? 0.06
                : curve.on
                  ? 0.35 + 0.6 * Math.min(1, curve.strength)
                  : mark
                    ? 0.06
                    : 0.1 + 0.35 * Math.min(1, curve.strength)
            }
          />
          {onCut && (
            <path class="hit" d={curve.d} onPointerDown={onLead && onDown(curve)}>
              <title>{cutName?.(curve.q, curve.k)}</title>
            </path>
          )}
        </g>
      ))}
      {pull && <path class={pull.over === null ? "pull" : "pull aimed"} d={bend(pull, pull.curve.to)} stroke-width={pull.curve.width} />}
    </svg>
  );
}

const bend = (from: Point, to: Point) => {
  const middle = (from.y + to.y) / 2;
  return `M${from.x} ${from.y}C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`;
};

const isOn = (mark: Mark | null, q: number, k: number) => mark !== null && (mark.side === "target" ? mark.token === q : mark.token === k);
