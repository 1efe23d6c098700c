/** What the training screen does with runs, curves and samples. */
import type { CurveOut, NoticeOut, RunDetails, RunEvent, RunOut, SampleOut } from "../api-types";
import { decimated, nearest } from "./chart";
import { falls, SCORES } from "./metrics";

export interface RunData {
  readonly detail: RunDetails;
  readonly series: Readonly<Record<string, CurveOut>>;
}

export const WANTED = [
  "train.loss",
  "valid.loss",
  ...SCORES.map((name) => `valid.${name}`),
  "valid.kept_loss",
  ...SCORES.map((name) => `valid.kept_${name}`),
  "train.lr",
  "train.tokens_per_s",
  "train.grad_norm",
];
const LONG = 4000;
/** Whether a curve is drawn: also those of the directions of a model that has several, such as `valid.bleu de→en`. */
export const isWanted = (name: string): boolean => WANTED.includes(name) || SCORES.some((score) => name.startsWith(`valid.${score} `));

/** The directions whose score has a curve of its own. */
export const directionsIn = (all: readonly RunData[], metric: string): string[] => {
  const start = `valid.${metric} `;
  return [...new Set(all.flatMap((run) => Object.keys(run.series).filter((name) => name.startsWith(start))))].map((name) =>
    name.slice(start.length),
  );
};

/** The numbers of an event by name; of a validation by directions those of each, too. */
function figuresOf(event: RunEvent): [string, unknown][] {
  const each = Object.entries((event.directions ?? {}) as Record<string, Record<string, unknown>>);
  return [
    ...Object.entries(event),
    ...each.flatMap(([way, one]) => Object.entries(one).map(([name, value]): [string, unknown] => [`${name} ${way}`, value])),
  ];
}

/** How much of a run is over, from 0 to 1, by its steps or by its time; null: nobody can tell. */
export function shareDone(run: Pick<RunOut, "step" | "max_steps" | "elapsed_s" | "time_limit">): number | null {
  const bySteps = run.step !== null && run.max_steps ? run.step / run.max_steps : null;
  const byTime = run.elapsed_s !== null && run.time_limit ? run.elapsed_s / run.time_limit : null;
  return bySteps === null && byTime === null ? null : Math.min(1, Math.max(bySteps ?? 0, byTime ?? 0));
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** A run after more of its events; the newest value for a step counts. */
export function extend(run: RunData, events: readonly RunEvent[]): RunData {
  const series = new Map(
    Object.entries(run.series).map(([name, one]) => [name, { step: [...one.step], elapsed_s: [...one.elapsed_s], value: [...one.value] }]),
  );
  let { detail } = run;
  let elapsed = lastElapsed(run);
  for (const event of events) {
    const step = isNumber(event.step) ? event.step : null;
    if (step !== null) detail = { ...detail, step };
    if (isNumber(event.elapsed_s)) elapsed = event.elapsed_s;
    if (event.type === "start") detail = { ...detail, status: "running", reason: null };
    if (event.type === "end") detail = { ...detail, status: statusOf(event.status), reason: textOf(event.reason) };
    if (event.type === "notice")
      detail = {
        ...detail,
        notices: [...detail.notices, { step, level: textOf(event.level), code: textOf(event.code), message: textOf(event.message) }],
      };
    if (event.type === "checkpoint" && event.best === true && isNumber(event.metric) && step !== null) {
      const metric = detail.best?.metric ?? "score";
      detail = { ...detail, best: { metric, step, value: falls(metric) ? -event.metric : event.metric } };
    }
    if (step === null || "averaged" in event || (event.type !== "train" && event.type !== "valid")) continue;
    for (const [column, value] of figuresOf(event)) {
      const name = `${event.type}.${column}`;
      if (!isWanted(name) || !isNumber(value)) continue;
      if (!series.has(name)) series.set(name, { step: [], elapsed_s: [], value: [] });
      put(series.get(name)!, step, elapsed, value);
    }
    if (Array.isArray(event.samples) && event.samples.length > 0)
      detail = {
        ...detail,
        samples: [...detail.samples.filter((one) => one.step !== step), { step, samples: event.samples as SampleOut[] }],
      };
    if (typeof event.probe === "string" && !detail.probes.includes(step)) detail = { ...detail, probes: [...detail.probes, step] };
  }
  return { detail, series: Object.fromEntries([...series].map(([name, one]) => [name, bounded(one)])) };
}

function put(
  series: { step: number[]; elapsed_s: (number | null)[]; value: number[] },
  step: number,
  elapsed: number | null,
  value: number,
): void {
  while (series.step.length > 0 && series.step[series.step.length - 1] >= step) {
    series.step.pop();
    series.elapsed_s.pop();
    series.value.pop();
  }
  series.step.push(step);
  series.elapsed_s.push(elapsed);
  series.value.push(value);
}

/** A curve that has grown long, thinned; its extremes stay. */
function bounded(series: CurveOut): CurveOut {
  if (series.step.length <= LONG) return series;
  const kept = decimated(series.value, LONG / 2);
  return {
    step: kept.map((i) => series.step[i]),
    elapsed_s: kept.map((i) => series.elapsed_s[i]),
    value: kept.map((i) => series.value[i]),
  };
}

function lastElapsed(run: RunData): number | null {
  const known = Object.values(run.series)
    .map((one) => one.elapsed_s[one.elapsed_s.length - 1])
    .filter(isNumber);
  return known.length ? Math.max(...known) : null;
}

const statusOf = (value: unknown): RunOut["status"] =>
  value === "completed" || value === "stopped" || value === "failed" ? value : "unknown";

/** x and y of a curve by step or by seconds. Points whose time is unknown are left out; time never runs backwards, so a resumed run adds its hours. */
export function points(series: CurveOut | undefined, axis: "step" | "time"): { x: number[]; y: number[] } {
  if (!series) return { x: [], y: [] };
  if (axis === "step") return { x: [...series.step], y: [...series.value] };
  const x: number[] = [];
  const y: number[] = [];
  let before = 0;
  let last = 0;
  series.elapsed_s.forEach((seconds, i) => {
    if (seconds === null) return;
    if (seconds < last) before += last;
    last = seconds;
    x.push(before + seconds);
    y.push(series.value[i]);
  });
  return { x, y };
}

/** Where a step lies on the axis. */
export function placeOf(step: number, series: CurveOut | undefined, axis: "step" | "time"): number | null {
  if (axis === "step") return step;
  if (!series || series.step.length === 0) return null;
  const { x } = points(series, "time");
  return x[nearest(series.step, step)] ?? null;
}

/** The metric a run is judged by, else the first that it has. */
export function scoreNames(all: readonly RunData[]): string[] {
  return SCORES.filter((name) => all.some((run) => (run.series[`valid.${name}`]?.step.length ?? 0) > 0));
}

export const levelOf = (notice: NoticeOut): "info" | "warning" | "error" =>
  notice.level === "error" ? "error" : notice.level === "warning" ? "warning" : "info";

export interface Stage {
  readonly from: number;
  readonly to: number;
  readonly hyp: string;
  readonly score: number | null;
}
export interface Story {
  readonly src: string;
  readonly ref: string;
  readonly stages: readonly Stage[];
}

/** Each validation sentence and what became of its translation; equal answers in a row are one stage. */
export function stories(samples: RunDetails["samples"]): Story[] {
  const found = new Map<string, { src: string; ref: string; stages: Stage[] }>();
  for (const { step, samples: list } of [...samples].sort((a, b) => a.step - b.step))
    for (const { src, ref, hyp, score } of list) {
      const key = JSON.stringify([src, ref]);
      if (!found.has(key)) found.set(key, { src, ref, stages: [] });
      const { stages } = found.get(key)!;
      const last = stages[stages.length - 1];
      if (last && last.hyp === hyp) stages[stages.length - 1] = { ...last, to: step, score };
      else stages.push({ from: step, to: step, hyp, score });
    }
  return [...found.values()];
}

/** The runs an address asks for, else the three that wrote last; unknown names are left out. */
export function chosenRuns(runs: readonly RunOut[], asked: string | undefined): RunOut[] {
  if (asked !== undefined) {
    const names = asked.split(",");
    return runs.filter((run) => names.includes(run.name));
  }
  const latest = [...runs].sort((a, b) => String(b.updated ?? "").localeCompare(String(a.updated ?? ""))).slice(0, 3);
  return runs.filter((run) => latest.includes(run));
}

/** Short names that still tell the runs apart: what they all begin with, up to a slash, is left out. */
export function shortNames(titles: readonly string[]): string[] {
  const head = titles[0]?.slice(0, titles[0].lastIndexOf("/") + 1) ?? "";
  const shared = head !== "" && titles.every((title) => title.startsWith(head));
  return titles.map((title) => (shared ? title.slice(head.length) : title));
}

export const titleOf = (run: RunOut): string => run.title ?? run.name;

/** An atlas of a probe as bytes. */
export const bytesOf = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
