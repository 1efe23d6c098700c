/** Arithmetic of line charts: ticks, scales, smoothing, thinning, and labels that keep clear of each other. */
import { range } from "./range";

export interface Tick {
  readonly at: number;
  readonly label: string;
}

/** Round numbers inside a range, about `count` of them, in steps of 1, 2 or 5 times a power of ten. */
export function niceTicks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((n) => n * power >= rough * 0.999)! * power;
  return multiples(low, high, step);
}

function multiples(low: number, high: number, step: number): number[] {
  const found: number[] = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) found.push(Number((n * step).toPrecision(12)));
  return found;
}

/** Ticks of a logarithmic axis: powers of ten, with 2 and 5 between them where there is room. */
export function logTicks(low: number, high: number, count: number): number[] {
  const from = Math.floor(Math.log10(low));
  const to = Math.ceil(Math.log10(high));
  const inside = (values: number[]) => values.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  const powers = range(to - from + 1).map((i) => 10 ** (from + i));
  const rich = inside(powers.flatMap((p) => [p, 2 * p, 5 * p]));
  if (rich.length <= count + 1) return rich.length > 1 ? rich : niceTicks(low, high, count);
  const plain = inside(powers);
  const every = Math.max(1, Math.ceil(plain.length / count));
  return plain.filter((_, i) => i % every === 0);
}

const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/** Ticks of an axis of seconds, on whole minutes, hours and days. */
export function timeTicks(low: number, high: number, count: number): number[] {
  const rough = (high - low) / Math.max(1, count);
  const step = SECONDS.find((s) => s >= rough);
  if (rough < 1 || step === undefined) return niceTicks(low, high, count);
  return multiples(low, high, step);
}

/** Seconds in words a clock would use: 42 s, 3:05, 2:10:00, 1 d 4 h. */
export function duration(seconds: number): string {
  const s = Math.round(seconds);
  if (s < 60) return `${seconds < 10 && s !== seconds ? seconds.toFixed(1) : s} s`;
  const two = (n: number) => String(n).padStart(2, "0");
  if (s < 3600) return `${Math.floor(s / 60)}:${two(s % 60)}`;
  if (s < 86400) return `${Math.floor(s / 3600)}:${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
  const hours = Math.floor((s % 86400) / 3600);
  return `${Math.floor(s / 86400)} d${hours ? ` ${hours} h` : ""}`;
}

/** The range of an axis around all values: a little air, or only positive values with equal air in logarithms. */
export function domain(
  values: Iterable<number | null | undefined>,
  log: boolean,
  fixed: readonly [number | null, number | null] = [null, null],
): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined || !Number.isFinite(value) || (log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = log ? [0.1, 1] : [0, 1];
  if (log) {
    const air = Math.max(0.04 * Math.log10(high / low), 0.04);
    return [fixed[0] ?? low * 10 ** -air, fixed[1] ?? high * 10 ** air];
  }
  const air = (high - low) * 0.05 || Math.abs(high) * 0.05 || 0.5;
  const floor = low >= 0 && low - air < 0 ? 0 : low - air;
  return [fixed[0] ?? floor, fixed[1] ?? high + air];
}

export type Project = (value: number) => number;

/** From values to pixels. */
export function scale([low, high]: readonly [number, number], [from, to]: readonly [number, number], log = false): Project {
  const turn = log ? Math.log10 : (value: number) => value;
  const start = turn(low);
  const factor = (to - from) / (turn(high) - start || 1);
  return (value) => from + (turn(value) - start) * factor;
}

/** Exponential mean of what came before, weight 0…1 on the past; the start is not pulled to zero. Gaps stay gaps. */
export function smooth(values: readonly (number | null)[], weight: number): (number | null)[] {
  let mean = 0;
  let mass = 0;
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return null;
    mean = weight * mean + (1 - weight) * value;
    mass = weight * mass + (1 - weight);
    return mass > 0 ? mean / mass : value;
  });
}

/** At most `most` places of a long line: its ends, and the lowest and highest of each stretch. */
export function decimated(values: readonly (number | null)[], most: number): number[] {
  const count = values.length;
  if (count <= most) return range(count);
  const stretches = Math.max(1, Math.floor((most - 2) / 2));
  const kept = new Set([0, count - 1]);
  for (let s = 0; s < stretches; s++) {
    let low = -1;
    let high = -1;
    for (let i = Math.floor((s * count) / stretches); i < Math.floor(((s + 1) * count) / stretches); i++) {
      const value = values[i];
      if (value === null || !Number.isFinite(value)) continue;
      if (low < 0 || value < values[low]!) low = i;
      if (high < 0 || value > values[high]!) high = i;
    }
    if (low >= 0) kept.add(low).add(high);
  }
  return [...kept].sort((a, b) => a - b);
}

/** Place of the entry nearest to `x` in rising numbers; -1 when there are none. */
export function nearest(sorted: ArrayLike<number>, x: number): number {
  if (sorted.length === 0) return -1;
  let low = 0;
  let high = sorted.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= x) low = middle;
    else high = middle;
  }
  return Math.abs(sorted[high] - x) < Math.abs(sorted[low] - x) ? high : low;
}

/** Rising numbers of several lists, each once. */
export function union(lists: readonly ArrayLike<number>[]): number[] {
  const all = new Set<number>();
  for (const list of lists) for (let i = 0; i < list.length; i++) all.add(list[i]);
  return [...all].sort((a, b) => a - b);
}

/** Moves positions apart to at least `gap`, inside `low`…`high`, each as little as the others allow; order stays. */
export function spread(wanted: readonly number[], gap: number, low: number, high: number): number[] {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b] || a - b);
  const blocks: { sum: number; members: number[] }[] = [];
  order.forEach((index, place) => {
    let block = { sum: wanted[index] - place * gap, members: [index] };
    for (
      let last = blocks[blocks.length - 1];
      last && last.sum / last.members.length > block.sum / block.members.length;
      last = blocks[blocks.length - 1]
    ) {
      blocks.pop();
      block = { sum: last.sum + block.sum, members: [...last.members, ...block.members] };
    }
    blocks.push(block);
  });
  const result = new Array<number>(wanted.length);
  let place = 0;
  const top = high - (wanted.length - 1) * gap;
  for (const block of blocks) {
    const base = Math.max(low, Math.min(top, block.sum / block.members.length));
    for (const index of block.members) result[index] = base + gap * place++;
  }
  return result;
}

export type Point = readonly [number, number];

const at = (value: number) => Math.round(value * 10) / 10;

/** Runs of points without a gap. */
export function runs(points: readonly (Point | null)[]): Point[][] {
  const found: Point[][] = [];
  let open: Point[] | null = null;
  for (const point of points) {
    if (!point) open = null;
    else if (open) open.push(point);
    else {
      open = [point];
      found.push(open);
    }
  }
  return found;
}

/** Path of a line with gaps; a point on its own becomes a dot under round line ends. */
export const linePath = (points: readonly (Point | null)[]): string =>
  runs(points)
    .map((run) => "M" + run.map(([x, y]) => `${at(x)} ${at(y)}`).join("L") + (run.length === 1 ? "h0" : ""))
    .join("");

/** Path of dots, to be stroked with round ends: one element for all of them. */
export const dotPath = (points: readonly (Point | null)[]): string =>
  points.map((point) => (point ? `M${at(point[0])} ${at(point[1])}h0` : "")).join("");

/** Path of small circles. */
export const ringPath = (points: readonly Point[], r: number): string =>
  points.map(([x, y]) => `M${at(x - r)} ${at(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`).join("");

/** Path of the area between two lines with gaps at the same places. */
export function bandPath(upper: readonly (Point | null)[], lower: readonly (Point | null)[]): string {
  const pairs = upper.map((point, i) => (point && lower[i] ? ([point, lower[i]] as const) : null));
  let path = "";
  let open: (readonly [Point, Point])[] = [];
  const close = () => {
    if (open.length > 1) {
      const back = open.map(([, low]) => low).reverse();
      path += "M" + [...open.map(([high]) => high), ...back].map(([x, y]) => `${at(x)} ${at(y)}`).join("L") + "Z";
    }
    open = [];
  };
  for (const pair of pairs) {
    if (pair) open.push(pair);
    else close();
  }
  close();
  return path;
}
