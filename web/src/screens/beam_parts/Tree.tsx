/** The drawn tree: scrolls and zooms in its frame, walks by the arrow keys. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { BeamDocument } from "../../api-types";
import { IconButton } from "../../components/controls";
import { useName, useSize } from "../../hooks";
import { t } from "../../i18n";
import { fixed, percent } from "../../lib/format";
import { isEnd, momentOf, neighbour, stepsOf, type Limb } from "../../lib/tree";
import { geometryOf, HEIGHT, type Geometry } from "./geometry";

interface TreeProps {
  tree: BeamDocument;
  limbs: readonly Limb[];
  lang: string;
  step: number;
  selected: number | null;
  onSelect(n: number | null): void;
}

const LEAST = 0.35;
/** The smallest size at which the figures under the nodes can still be read. */
const READABLE = 0.8;
const CLOSEST = 1.6;

export function Tree({ tree, limbs, lang, step, selected, onSelect }: TreeProps) {
  const spine = useMemo(() => spineOf(tree, limbs), [tree, limbs]);
  const moment = useMemo(() => momentOf(tree, step), [tree, step]);
  const [frame, size] = useSize<HTMLDivElement>();
  const plan = useMemo(() => geometryOf(tree, limbs, spine, size.width || undefined), [tree, limbs, spine, size.width]);
  const [zoom, setZoom] = useState(1);
  const [focus, setFocus] = useState<number | null>(null);
  const id = useName("beam-node");
  const chosen = limbs.findIndex(
    (limb) => limb.n === selected && selected !== null && (limb.counted.length === 0 || limb.counted.includes(selected)),
  );
  const at = focus ?? (chosen >= 0 ? chosen : null);
  const pan = usePan(frame, zoom, setZoom);
  const smooth = !matchMedia("(prefers-reduced-motion: reduce)").matches;

  useEffect(() => setFocus(null), [limbs]);
  const reveal = (i: number) => {
    const box = plan.boxes[i];
    const view = frame.current;
    if (!view || !box) return;
    const inside = (low: number, high: number, from: number, length: number, margin: number) =>
      low < from + margin ? low - margin - from : high > from + length - margin ? high + margin - from - length : 0;
    view.scrollBy({
      left: inside(box.x * zoom, (box.x + box.width) * zoom, view.scrollLeft, view.clientWidth, 24),
      top: inside((box.y - HEIGHT) * zoom, (box.y + HEIGHT) * zoom, view.scrollTop, view.clientHeight, 8),
      behavior: smooth ? "smooth" : "auto",
    });
  };
  // all steps are in sight from the start, as far as they can be read
  const across = size.width > 0 ? Math.max(READABLE, Math.min(1, size.width / plan.width)) : 1;
  useLayoutEffect(() => setZoom(across), [plan, across]);
  // the answer's line is what to look at first
  useLayoutEffect(() => {
    const view = frame.current;
    if (view && plan.boxes[0]) view.scrollTop = plan.boxes[0].y * zoom - view.clientHeight / 2;
  }, [plan]);
  useEffect(() => {
    if (at !== null) reveal(at);
  }, [at, zoom]);
  const steps = stepsOf(tree);
  const first = useRef(true);
  useEffect(() => {
    const column = plan.columns[step];
    const view = frame.current;
    const skip = first.current && step >= steps;
    first.current = false;
    if (skip || !column || !view) return;
    const [low, high] = [column.x * zoom, (column.x + column.width + 60) * zoom];
    if (low < view.scrollLeft || high > view.scrollLeft + view.clientWidth)
      view.scrollTo({ left: Math.max(0, high - view.clientWidth * 0.8), behavior: smooth ? "smooth" : "auto" });
  }, [step]);

  const onKeyDown = (event: KeyboardEvent) => {
    const from = at ?? 0;
    const next =
      event.key === "Home"
        ? 0
        : event.key === "End"
          ? Math.max(...spine)
          : event.key.startsWith("Arrow") && at === null
            ? 0
            : neighbour(limbs, plan.rows, spine, from, event.key);
    if (next !== null && next >= 0) setFocus(next);
    else if ((event.key === "Enter" || event.key === " ") && limbs[from].n !== null)
      onSelect(limbs[from].n === selected ? null : limbs[from].n);
    else if (event.key === "Escape" && at !== null) {
      setFocus(null);
      onSelect(null);
    } else if (event.key === "+" || event.key === "=") setZoom(Math.min(CLOSEST, zoom * 1.2));
    else if (event.key === "-") setZoom(Math.max(LEAST, zoom / 1.2));
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const room = frame.current?.clientHeight ?? Infinity;
  const states = limbs.map((limb) => classOf(tree, limb, moment, step));
  const order = limbs.map((_, i) => i).sort((a, b) => depth(states[a]) - depth(states[b]) || a - b);
  const fit = Math.max(0.6, Math.min(1, size.width / plan.width, plan.height > room ? room / plan.height : 1));
  const larger = plan.width > size.width + 1 || plan.height > room + 1 || zoom !== 1;
  return (
    <div class="beam-frame">
      {larger && size.width > 0 && (
        <div class="beam-zoom">
          <IconButton
            icon="plus"
            label={t("figure.zoom_in")}
            disabled={zoom >= CLOSEST}
            onClick={() => setZoom(Math.min(CLOSEST, zoom * 1.25))}
          />
          <IconButton
            icon="minus"
            label={t("beam.zoom_out")}
            disabled={zoom <= LEAST}
            onClick={() => setZoom(Math.max(LEAST, zoom / 1.25))}
          />
          <button type="button" class="btn quiet" aria-pressed={zoom === fit && fit < 1} onClick={() => setZoom(zoom === fit ? 1 : fit)}>
            {zoom === fit ? t("beam.full_size") : t("beam.fit")}
          </button>
        </div>
      )}
      <div
        class="beam-scroll"
        ref={frame}
        tabIndex={0}
        role="tree"
        aria-label={t("beam.tree_name")}
        aria-activedescendant={at === null ? undefined : `${id}-${at}`}
        onKeyDown={onKeyDown}
        onBlur={() => setFocus(null)}
        {...pan}
      >
        <svg
          class={step < steps ? "partial" : undefined}
          width={plan.width * zoom}
          height={plan.height * zoom}
          viewBox={`0 0 ${plan.width} ${plan.height}`}
          role="presentation"
        >
          <Columns plan={plan} step={step} steps={steps} />
          {order.map(
            (i) =>
              limbs[i].parent >= 0 && (
                <path key={i} class={`edge ${states[i]}`} d={plan.edges[i]} stroke-width={plan.strokes[i].toFixed(2)} />
              ),
          )}
          {limbs.map((limb, i) => (
            <Node
              key={i}
              id={`${id}-${i}`}
              tree={tree}
              limb={limb}
              plan={plan}
              i={i}
              lang={lang}
              state={states[i]}
              on={i === chosen}
              focused={i === focus}
              click={() => limb.n !== null && onSelect(limb.n === selected ? null : limb.n)}
            />
          ))}
        </svg>
      </div>
      <div class="sr" role="status" aria-live="polite">
        {focus === null ? "" : describe(tree, limbs[focus])}
      </div>
    </div>
  );
}

/** Lines are drawn from the least to the most important, so that the answer lies on top where they share a way. */
const LAYERS = ["ghost", "pruned", "dead", "alive", "best"];
const depth = (state: string) => LAYERS.findIndex((name) => state.startsWith(name));

/** The answer as indices of limbs. */
const spineOf = (tree: BeamDocument, limbs: readonly Limb[]): ReadonlySet<number> => {
  const chosen = new Set(tree.chosen);
  return new Set(limbs.flatMap((limb, i) => (limb.n !== null && limb.counted.length === 0 && chosen.has(limb.n) ? [i] : [])));
};

function classOf(tree: BeamDocument, limb: Limb, moment: { best: ReadonlySet<number>; alive: ReadonlySet<number> }, step: number): string {
  const later = limb.t >= step ? " later" : "";
  if (limb.n === null) return "ghost" + later;
  const node = tree.nodes[limb.n];
  const state =
    limb.counted.length > 0 || node.state === "pruned"
      ? "pruned"
      : moment.best.has(limb.n)
        ? "best"
        : moment.alive.has(limb.n)
          ? "alive"
          : "dead";
  return state + (isEnd(tree, node) ? " end" : "") + later;
}

function describe(tree: BeamDocument, limb: Limb): string {
  if (limb.n === null) return t("beam.said_ghost", { text: limb.text.trim(), step: limb.t + 1 });
  const node = tree.nodes[limb.n];
  if (limb.counted.length > 0) return t("beam.said_counted", { n: limb.counted.length, step: node.t + 1 });
  if (node.parent === null) return t("beam.said_root");
  return t("beam.said", {
    text: node.text.trim(),
    step: node.t + 1,
    p: percent(Math.exp(node.logprob)),
    norm: fixed(node.norm, 2),
    state: t(`beam.state_${node.state}`),
  });
}

function Columns({ plan, step, steps }: { plan: Geometry; step: number; steps: number }) {
  return (
    <>
      {step > 0 && step < steps && (
        <rect class="front" x={plan.columns[step].x - 8} y={4} width={plan.columns[step].width + 16} height={plan.height - 8} rx={8} />
      )}
      {plan.columns.map(
        (column, i) =>
          i > 0 && (
            <text key={i} class="step" x={column.x + column.width / 2} y={20} text-anchor="middle">
              {i}
            </text>
          ),
      )}
    </>
  );
}

interface NodeProps {
  id: string;
  tree: BeamDocument;
  limb: Limb;
  plan: Geometry;
  i: number;
  lang: string;
  state: string;
  on: boolean;
  focused: boolean;
  click(): void;
}

function Node({ id, tree, limb, plan, i, lang, state, on, focused, click }: NodeProps) {
  const { x, y, width, label, space, figure } = plan.boxes[i];
  return (
    <g
      id={id}
      class={`node ${state}${on ? " on" : ""}${focused ? " focused" : ""}`}
      role="treeitem"
      aria-level={limb.t + 2}
      aria-selected={on}
      aria-label={describe(tree, limb)}
      onClick={click}
    >
      <rect x={x} y={y - HEIGHT / 2} width={width} height={HEIGHT} rx={7} />
      <text x={x + width / 2} y={figure ? y - 2 : y + 4.5} text-anchor="middle" lang={lang}>
        {space && <tspan class="space">␣</tspan>}
        {label}
      </text>{" "}
      {figure && (
        <text class="figure" x={x + width / 2} y={y + 11} text-anchor="middle">
          {figure}
        </text>
      )}
    </g>
  );
}

/** Drag with the mouse, turn the wheel sideways where there is nothing below, pinch or Ctrl and wheel to zoom. */
function usePan(frame: { current: HTMLDivElement | null }, zoom: number, setZoom: (zoom: number) => void) {
  const drag = useRef<{ x: number; y: number; left: number; top: number; moved: boolean } | null>(null);
  const keep = useRef<{ x: number; y: number; left: number; top: number } | null>(null);
  useLayoutEffect(() => {
    const view = frame.current;
    if (view && keep.current) {
      view.scrollLeft = keep.current.x * zoom - keep.current.left;
      view.scrollTop = keep.current.y * zoom - keep.current.top;
    }
    keep.current = null;
  }, [zoom]);
  useEffect(() => {
    const view = frame.current;
    if (!view) return;
    const wheel = (event: WheelEvent) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const box = view.getBoundingClientRect();
        const [left, top] = [event.clientX - box.left, event.clientY - box.top];
        keep.current = { x: (view.scrollLeft + left) / zoom, y: (view.scrollTop + top) / zoom, left, top };
        setZoom(Math.max(LEAST, Math.min(CLOSEST, zoom * (event.deltaY < 0 ? 1.1 : 1 / 1.1))));
        return;
      }
      const tall = view.scrollHeight > view.clientHeight + 1;
      if (tall || event.shiftKey || Math.abs(event.deltaX) >= Math.abs(event.deltaY)) return;
      const room = event.deltaY > 0 ? view.scrollWidth - view.clientWidth - view.scrollLeft : view.scrollLeft;
      if (room < 1) return;
      event.preventDefault();
      view.scrollLeft += event.deltaY;
    };
    view.addEventListener("wheel", wheel, { passive: false });
    return () => view.removeEventListener("wheel", wheel);
  }, [zoom]);
  return {
    onPointerDown: (event: PointerEvent) => {
      const view = frame.current!;
      if (event.pointerType === "mouse" && event.button === 0)
        drag.current = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop, moved: false };
    },
    onPointerMove: (event: PointerEvent) => {
      const d = drag.current;
      if (!d) return;
      d.moved ||= Math.abs(event.clientX - d.x) + Math.abs(event.clientY - d.y) > 4;
      if (!d.moved) return;
      frame.current!.scrollLeft = d.left - (event.clientX - d.x);
      frame.current!.scrollTop = d.top - (event.clientY - d.y);
    },
    onPointerUp: () => void setTimeout(() => (drag.current = null)),
    onPointerLeave: () => (drag.current = null),
    onClickCapture: (event: MouseEvent) => drag.current?.moved && event.stopPropagation(),
  };
}
