/** Lines over a shared axis: bands, hollow points for thin data, bars below, flags, and a cursor that charts can share. */
import { useSignal, type Signal } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import { useName, useSize } from "../hooks";
import { t } from "../i18n";
import {
  bandPath,
  decimated,
  domain,
  dotPath,
  duration,
  linePath,
  logTicks,
  nearest,
  niceTicks,
  ringPath,
  scale,
  spread,
  timeTicks,
  union,
} from "../lib/chart";
import type { Point, Project, Tick } from "../lib/chart";
import type { TableData } from "../lib/csv";
import { number, short } from "../lib/format";
import { shorten, thin as thinned, widthOf } from "../lib/labels";
import { Figure, type FigureProps } from "./Figure";
import "../styles/chart.css";

export interface Line {
  readonly id: string;
  readonly label: string;
  /** series colour, 1…6 */
  readonly colour: number;
  /** rising; at most 1,000 points are drawn, the extremes always */
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
  /** drawn broken: tells lines of one colour apart */
  readonly dashed?: boolean;
  /** a dot at each point; hollow where `thin` */
  readonly dots?: boolean;
  readonly thin?: readonly boolean[];
  /** confidence band around y */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
  /** what was measured, when y is smoothed: faint dots behind the line */
  readonly raw?: readonly (number | null)[];
}

export interface Flag {
  readonly x: number;
  readonly text: string;
  readonly level?: "info" | "warning" | "error";
}

export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly n: number;
  readonly thin?: boolean;
}

export interface LineChartProps {
  /** accessible name */
  name: string;
  lines: readonly Line[];
  xLabel: string;
  /** numbers (default), or seconds shown as a clock */
  xKind?: "number" | "time";
  /** ticks of one's own, e.g. one per bin */
  xTicks?: readonly Tick[];
  xRange?: readonly [number | null, number | null];
  yRange?: readonly [number | null, number | null];
  log?: boolean;
  /** the x axis in logarithms, too */
  logX?: boolean;
  formatX?(x: number): string;
  formatY?(y: number): string;
  height?: number;
  /** x under the cursor; give charts the same signal and they share it */
  cursor?: Signal<number | null>;
  flags?: readonly Flag[];
  /** grey stretches of the background */
  ranges?: readonly { readonly from: number; readonly to: number }[];
  /** a histogram under the lines, on the same axis */
  bars?: { readonly label: string; readonly items: readonly Bar[]; readonly selected?: number | null };
  /** a level to compare with, e.g. 0 of differences */
  level?: number;
  /** click or Enter at an x of the lines */
  onPick?(x: number): void;
}

const MOST = 1000;
const LABEL = 16;
const BARS = 64;
const GAP = 30;

/** Where everything stands. */
interface Plan {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly foot: number;
  readonly x: Project;
  readonly y: Project;
  readonly xs: readonly number[];
  readonly xTicks: readonly Tick[];
  readonly yTicks: readonly Tick[];
  /** labels at the ends of lines, or below the chart when there is no room */
  readonly ends: readonly number[] | null;
}

function planOf(props: LineChartProps, width: number): Plan {
  const { lines, log = false, height: inner = 220 } = props;
  const values = lines.flatMap((line) => [
    ...line.y,
    ...(line.raw ?? []),
    ...(line.low ?? []),
    ...(line.high ?? []),
    ...(props.level === undefined ? [] : [props.level]),
  ]);
  const yDomain = domain(values, log, props.yRange);
  const top = props.flags?.length ? 20 : 10;
  const bottom = top + inner;
  const yTicks = (log ? logTicks : niceTicks)(yDomain[0], yDomain[1], Math.max(2, Math.floor(inner / 44))).map((at) => ({
    at,
    label: tickText(at),
  }));
  const left = Math.max(24, ...yTicks.map((tick) => widthOf(tick.label) * 11.5 + 14));
  const named = Math.max(0, ...lines.map((line) => widthOf(shorten(line.label, 28)) * 12.5));
  const aside = Math.min(264, named + 62);
  const room = width - left - aside >= 220 && lines.length * LABEL <= inner + 12;
  const right = width - (room && lines.length > 0 ? aside : 12);
  const spans = [
    ...lines.flatMap((line) => (line.x.length ? [line.x[0], line.x[line.x.length - 1]] : [])),
    ...(props.bars?.items.flatMap((bar) => [bar.from, bar.to]) ?? []),
  ];
  const found = spans.length ? [Math.min(...spans), Math.max(...spans)] : [0, 1];
  const xDomain: [number, number] = [props.xRange?.[0] ?? found[0], props.xRange?.[1] ?? found[1]];
  if (xDomain[0] === xDomain[1]) xDomain[1] += 1;
  const x = scale(xDomain, [left, right], props.logX);
  const y = scale(yDomain, [bottom, top], log);
  const foot = props.bars ? bottom + GAP + BARS : bottom;
  const count = Math.max(2, Math.floor((right - left) / 68));
  const xTicks = props.xTicks
    ? own(props.xTicks, x)
    : (props.xKind === "time" ? timeTicks : niceTicks)(xDomain[0], xDomain[1], count).map((at) => ({ at, label: textX(props, at) }));
  const lasts = lines.map((line) => y(lastOf(line, log) ?? yDomain[0]));
  return {
    width,
    left,
    right,
    top,
    bottom,
    foot,
    x,
    y,
    xTicks,
    yTicks,
    height: foot + (room ? 26 : 42),
    xs: union(lines.map((line) => line.x)),
    ends: room ? spread(lasts, LABEL, top + 2, Math.max(bottom, top + 2 + LABEL * lines.length)) : null,
  };
}

/** Of ticks that are given, those with room for their labels. */
function own(ticks: readonly Tick[], x: Project): Tick[] {
  const widest = Math.max(...ticks.map((tick) => widthOf(tick.label) * 11.5 + 10), 1);
  const step = ticks.length > 1 ? Math.min(...ticks.slice(1).map((tick, i) => x(tick.at) - x(ticks[i].at))) : Infinity;
  const shown = thinned(ticks.length, step, widest);
  return ticks.filter((_, i) => shown[i]);
}

const tickText = (value: number) => (Math.abs(value) >= 1e4 ? short(value).replace(" ", "\u202f") : number(value));
const textX = (props: LineChartProps, x: number) => (props.formatX ?? (props.xKind === "time" ? duration : tickText))(x);
const textY = (props: LineChartProps, y: number) => (props.formatY ?? number)(y);

function lastOf(line: Line, log: boolean): number | null {
  for (let i = line.y.length - 1; i >= 0; i--) {
    const value = line.y[i];
    if (value !== null && Number.isFinite(value) && (!log || value > 0)) return value;
  }
  return null;
}

/** Place of the line's point under the cursor, -1 where the line has none near. */
function placeAt(line: Line, x: number | null): number {
  if (x === null || line.x.length === 0) return -1;
  const i = nearest(line.x, x);
  const last = line.x.length - 1;
  const reach = last > 0 ? (line.x[last] - line.x[0]) / last : Infinity;
  const outside = Math.max(line.x[0] - x, x - line.x[last]);
  return outside > reach / 2 || measured(line, i) === null ? -1 : i;
}

export function LineChart(props: LineChartProps) {
  const [frame, size] = useSize<HTMLDivElement>();
  const own = useSignal<number | null>(null);
  const cursor = props.cursor ?? own;
  const [said, setSaid] = useState("");
  const help = useName("chart-help");
  const plan = useMemo(
    () => planOf(props, Math.max(240, size.width || 640)),
    [
      props.lines,
      props.log,
      props.height,
      props.xKind,
      props.xTicks,
      props.xRange?.[0],
      props.xRange?.[1],
      props.yRange?.[0],
      props.yRange?.[1],
      props.bars,
      props.flags,
      props.level,
      props.formatX,
      size.width,
    ],
  );
  const drawing = useMemo(() => <Drawing props={props} plan={plan} />, [plan, props.ranges, props.flags, props.bars]);

  const snapped = (event: PointerEvent): number | null => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const px = event.clientX - box.left;
    if (px < plan.left - 16 || px > plan.right + 16 || plan.xs.length === 0) return null;
    return plan.xs[nearest(plan.xs.map(plan.x), px)];
  };
  const say = (x: number) => {
    const values = props.lines.flatMap((line) => {
      const i = placeAt(line, x);
      return i < 0 ? [] : [t("chart.value", { line: line.label, value: exact(props, line, i) })];
    });
    const notes = (props.flags ?? []).filter((flag) => flag.x === x).map((flag) => flag.text);
    setSaid(t("chart.said", { x: textX(props, x), values: [...values, ...notes].join(", ") }));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (plan.xs.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = plan.xs.length - 1;
    const now = cursor.value === null ? null : nearest(plan.xs, cursor.value);
    const page = Math.max(1, Math.round(last / 10));
    const next = {
      ArrowRight: now === null ? 0 : Math.min(last, now + 1),
      ArrowLeft: now === null ? last : Math.max(0, now - 1),
      PageUp: Math.min(last, (now ?? 0) + page),
      PageDown: Math.max(0, (now ?? last) - page),
      Home: 0,
      End: last,
    }[event.key];
    if (next !== undefined) {
      cursor.value = plan.xs[next];
      say(plan.xs[next]);
    } else if (event.key === "Escape" && now !== null) cursor.value = null;
    else if ((event.key === "Enter" || event.key === " ") && props.onPick && now !== null) props.onPick(plan.xs[now]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="chart" ref={frame}>
      <div
        class={props.onPick ? "chart-plot picks" : "chart-plot"}
        tabIndex={0}
        role="application"
        aria-label={props.name}
        aria-describedby={help}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => (cursor.value = snapped(event))}
        onPointerDown={(event) => (cursor.value = snapped(event))}
        onPointerLeave={(event) => {
          if (event.pointerType === "mouse") cursor.value = null;
        }}
        onBlur={() => (cursor.value = null)}
        onClick={() => {
          if (props.onPick && cursor.value !== null) props.onPick(cursor.value);
        }}
      >
        <svg width={plan.width} height={plan.height} viewBox={`0 0 ${plan.width} ${plan.height}`} role="img" aria-label={props.name}>
          {drawing}
          <Cursor props={props} plan={plan} cursor={cursor} />
        </svg>
      </div>
      {!plan.ends && <Legend props={props} cursor={cursor} />}
      <p id={help} class="sr">
        {props.onPick ? t("chart.help_pick") : t("chart.help")}
      </p>
      <div class="sr" role="status" aria-live="polite">
        {said}
      </div>
    </div>
  );
}

/** What was measured at a place of a line, also when the line itself is smoothed. */
const measured = (line: Line, i: number): number | null => (i < 0 ? null : (line.raw ?? line.y)[i]);

const exact = (props: LineChartProps, line: Line, i: number): string => {
  const value = textY(props, measured(line, i)!);
  const [low, high] = [line.low?.[i], line.high?.[i]];
  const told =
    low === null || low === undefined || high === null || high === undefined
      ? value
      : t("chart.interval", { value, low: textY(props, low), high: textY(props, high) });
  return line.thin?.[i] ? `${told}, ${t("chart.thin")}` : told;
};

/** All that does not follow the cursor; one element per line and kind of mark, however many points. */
function Drawing({ props, plan }: { props: LineChartProps; plan: Plan }) {
  const { x, y, left, right, top, bottom, foot } = plan;
  const clamp = (px: number) => Math.max(left, Math.min(right, px));
  const crowd = Math.max(0, ...props.lines.filter((line) => line.dots).map((line) => line.x.length));
  const roomy = crowd * 11 <= right - left; // dots that touch hide their line
  const most = Math.max(1, ...(props.bars?.items.map((bar) => bar.n) ?? []));
  return (
    <>
      {props.ranges?.map((range, i) => {
        const [from, to] = [clamp(x(range.from)), clamp(x(range.to))];
        return to - from > 0.5 && <rect key={i} class="range" x={from} y={top} width={to - from} height={foot - top} />;
      })}
      {plan.yTicks.map((tick) => (
        <g key={tick.at}>
          <line class="grid" x1={left} x2={right} y1={y(tick.at)} y2={y(tick.at)} />
          <text x={left - 8} y={y(tick.at)} text-anchor="end" dominant-baseline="central">
            {tick.label}
          </text>
        </g>
      ))}
      {props.level !== undefined && <line class="level" x1={left} x2={right} y1={y(props.level)} y2={y(props.level)} />}
      <line class="axis" x1={left} x2={right} y1={foot} y2={foot} />
      {plan.xTicks.map((tick) => (
        <g key={tick.at}>
          <line class="axis" x1={x(tick.at)} x2={x(tick.at)} y1={foot} y2={foot + 4} />
          <text x={x(tick.at)} y={foot + 17} text-anchor="middle">
            {tick.label}
          </text>
        </g>
      ))}
      {plan.ends ? (
        <text
          class="axis-name"
          x={Math.max(right + 10, ...plan.xTicks.map((tick) => x(tick.at) + widthOf(tick.label) * 6 + 10))}
          y={foot + 17}
        >
          {props.xLabel}
        </text>
      ) : (
        <text class="axis-name" x={right} y={foot + 35} text-anchor="end">
          {props.xLabel}
        </text>
      )}
      {props.bars?.items.map((bar, i) => {
        const [from, to] = [x(bar.from) + 1, x(bar.to) - 1];
        const tall = Math.max(bar.n > 0 ? 1.5 : 0, (bar.n / most) * (BARS - 14));
        return (
          <g key={i} class={i === props.bars!.selected ? "bar on" : "bar"}>
            <rect x={from} y={foot - tall} width={Math.max(1, to - from)} height={tall} rx={1.5} />
            {to - from > 26 && (
              <text x={(from + to) / 2} y={foot - tall - 4} text-anchor="middle">
                {short(bar.n)}
              </text>
            )}
          </g>
        );
      })}
      {props.bars && (
        <text class="bars-name" x={left} y={bottom + 18}>
          {props.bars.label}
        </text>
      )}
      {props.flags?.map((flag, i) => {
        const px = x(flag.x);
        if (px < left - 1 || px > right + 1) return null;
        return (
          <g key={i} class={`flag ${flag.level ?? "info"}`}>
            <line x1={px} x2={px} y1={top - 6} y2={bottom} />
            <path d={`M${px} ${top - 16}l9 4.5l-9 4.500z`} />
            <title>{flag.text}</title>
          </g>
        );
      })}
      {props.lines.map((line) => (
        <Drawn key={line.id} line={line} plan={plan} log={props.log ?? false} roomy={roomy} />
      ))}
      {props.lines.length === 0 && (
        <text x={(left + right) / 2} y={(top + bottom) / 2} text-anchor="middle">
          {t("chart.empty")}
        </text>
      )}
    </>
  );
}

function Drawn({ line, plan, log, roomy }: { line: Line; plan: Plan; log: boolean; roomy: boolean }) {
  const { x, y } = plan;
  const fits = (value: number | null | undefined): value is number =>
    value !== null && value !== undefined && Number.isFinite(value) && (!log || value > 0);
  const kept = decimated(line.raw ?? line.y, MOST);
  const points = (values: readonly (number | null)[]) =>
    kept.map((i): Point | null => (fits(values[i]) ? [x(line.x[i]), y(values[i])] : null));
  const dots = (line.dots && roomy) || kept.length === 1 ? points(line.y) : [];
  const full = dots.map((point, at) => (line.thin?.[kept[at]] ? null : point));
  const hollow = dots.filter((point, at): point is Point => point !== null && line.thin?.[kept[at]] === true);
  return (
    <g class={`series c${line.colour}`}>
      {line.low && line.high && <path class="band" d={bandPath(points(line.high), points(line.low))} />}
      {line.raw && <path class="raw" d={dotPath(points(line.raw))} />}
      <path class={line.dashed ? "line dashed" : "line"} d={linePath(points(line.y))} />
      <path class="dots" d={dotPath(full)} />
      {hollow.length > 0 && <path class="hollow" d={ringPath(hollow, 3.5)} />}
    </g>
  );
}

/** Vertical line, a dot on each line, and the names at the ends with the value under the cursor. */
function Cursor({ props, plan, cursor }: { props: LineChartProps; plan: Plan; cursor: Signal<number | null> }) {
  const at = cursor.value;
  const { x, y, left, right, top, foot } = plan;
  const seen = at !== null && x(at) >= left - 1 && x(at) <= right + 1;
  const label = seen ? textX(props, at) : "";
  const wide = widthOf(label) * 12 + 12;
  const middle = seen ? Math.max(left + wide / 2 - 8, Math.min(plan.width - wide / 2, x(at))) : 0;
  return (
    <>
      {seen && (
        <g class="cursor">
          <line x1={x(at)} x2={x(at)} y1={top} y2={foot} />
          <rect class="veil" x={middle - wide / 2 - 14} y={foot + 5} width={wide + 28} height={18} />
          <rect x={middle - wide / 2} y={foot + 4} width={wide} height={19} rx={4} />
          <text x={middle} y={foot + 17.5} text-anchor="middle">
            {label}
          </text>
        </g>
      )}
      {props.lines.map((line, l) => {
        const i = seen ? placeAt(line, at) : -1;
        const value = measured(line, i);
        const drawn = value !== null && (!props.log || value > 0);
        return (
          <g key={line.id} class={`series c${line.colour}`}>
            {drawn && <circle class="spot" cx={x(line.x[i])} cy={y(value)} r={4} />}
            {plan.ends && (
              <text class="end" x={right + 10} y={plan.ends[l]} dominant-baseline="central">
                {shorten(line.label, 28)}
                {value !== null && (
                  <tspan class="value" dx={6}>
                    {textY(props, value)}
                  </tspan>
                )}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

/** Names and values below a chart that has no room beside its lines. */
function Legend({ props, cursor }: { props: LineChartProps; cursor: Signal<number | null> }) {
  return (
    <ul class="chart-legend">
      {props.lines.map((line) => {
        const i = placeAt(line, cursor.value);
        return (
          <li key={line.id} class={`c${line.colour}`}>
            <i class={line.dashed ? "dashed" : undefined} />
            {line.label}
            <b>{i >= 0 && textY(props, measured(line, i)!)}</b>
          </li>
        );
      })}
    </ul>
  );
}

/** The numbers of a chart: one row per x, one column per line (and its interval, and what was measured). */
export function chartTable(lines: readonly Line[], xLabel: string): TableData {
  const xs = union(lines.map((line) => line.x));
  const columns = lines.flatMap((line) => {
    const rows = new Map(line.x.map((at, i) => [at, i]));
    const column = (head: string, values: readonly (number | null)[]) => ({
      head,
      at: (x: number) => {
        const i = rows.get(x);
        return i === undefined ? null : (values[i] ?? null);
      },
    });
    return [
      column(line.label, line.y),
      ...(line.raw ? [column(t("chart.raw", { line: line.label }), line.raw)] : []),
      ...(line.low && line.high
        ? [column(t("chart.low", { line: line.label }), line.low), column(t("chart.high", { line: line.label }), line.high)]
        : []),
    ];
  });
  return { head: [xLabel, ...columns.map((column) => column.head)], rows: xs.map((x) => [x, ...columns.map((column) => column.at(x))]) };
}

/** A line chart in its frame, with table twin and exports. */
export function LineFigure(
  props: Omit<LineChartProps, "name"> &
    Pick<FigureProps, "id" | "caption" | "tools" | "file" | "bare" | "className"> & { title: string; table?: () => TableData },
) {
  const { id, title, caption, tools, file, bare, className, table, ...chart } = props;
  return (
    <Figure
      id={id}
      title={title}
      caption={caption}
      tools={tools}
      file={file}
      bare={bare}
      className={className}
      table={table ?? (() => chartTable(chart.lines, chart.xLabel))}
    >
      <LineChart name={title} {...chart} />
    </Figure>
  );
}
