/** Links between two strips of tokens, drawn as curves: strong ones faint, those of the marked token clear. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { largest, type Matrix } from "../lib/matrix";

export interface Mark {
  readonly side: "source" | "target";
  readonly token: number;
}

interface Curve {
  readonly d: string;
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
}

/** Rows are target tokens, columns source tokens; `max` is the value of the widest ribbon. Stands between two `.tokens` strips in one parent. */
export function Ribbons({ matrix, mark, max = 1, signed = false, dependency }: RibbonsProps) {
  const svg = useRef<SVGSVGElement>(null);
  const [curves, setCurves] = useState<readonly Curve[]>([]);
  const [turn, setTurn] = useState(0);
  const [low, setLow] = useState(false);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setTurn((n) => n + 1));
    observer.observe(svg.current!.parentElement!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const node = svg.current!;
    const [above, below] = [node.previousElementSibling, node.nextElementSibling];
    if (!above || !below) return;
    const oneLine = above.clientHeight < 70 && below.clientHeight < 70;
    setLow(!oneLine); // strips of several lines have no room for all ribbons: only those of the marked token are drawn
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
      const middle = (from.y + to.y) / 2;
      list.push({
        d: `M${from.x} ${from.y}C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`,
        width: 1 + 6 * Math.min(1, strength),
        on,
        strength,
      });
    };
    for (let q = 0; q < matrix.rows && oneLine; q++)
      for (const k of largest(matrix.data.subarray(q * matrix.cols, (q + 1) * matrix.cols), 3)) if (!isOn(mark, q, k)) add(q, k, false);
    if (mark?.side === "target" && mark.token < matrix.rows) for (let k = 0; k < matrix.cols; k++) add(mark.token, k, true);
    if (mark?.side === "source" && mark.token < matrix.cols) for (let q = 0; q < matrix.rows; q++) add(q, mark.token, true);
    setCurves(list);
  }, [matrix, mark?.side, mark?.token, max, turn, low, dependency]);

  return (
    <svg class={`ribbons${signed ? " signed" : ""}${low ? " low" : ""}`} ref={svg} role="presentation">
      {curves.map((curve, i) => (
        <path
          key={i}
          class={curve.on ? "on" : undefined}
          d={curve.d}
          stroke-width={curve.width}
          stroke-opacity={curve.on ? 0.35 + 0.6 * Math.min(1, curve.strength) : mark ? 0.06 : 0.1 + 0.35 * Math.min(1, curve.strength)}
        />
      ))}
    </svg>
  );
}

const isOn = (mark: Mark | null, q: number, k: number) => mark !== null && (mark.side === "target" ? mark.token === q : mark.token === k);
