/** A comparison's report (schema compare/1), and what its sections ask of it. What was not measured is null or absent. */
import type { TableData } from "./csv";
import { fixed, number, short, signed } from "./format";
import { named, outOf100 } from "./metrics";
import { coloursOf } from "./series";

type Ends = readonly [number, number] | null;
type Values = readonly (number | null)[];
type Names<Key extends string, Value> = Readonly<Record<Key, Value>>;

export interface Score {
  readonly n: number;
  readonly value: number | null;
  readonly ci95: Ends;
}
export type Bin = Score & { readonly lo: number; readonly hi: number | null; readonly thin?: boolean; readonly beyond?: boolean };
export type Focus = Names<"entropy_bits" | "max_entropy_bits" | "sharpness", number> & { readonly by_layer: readonly Values[] };

export interface Entry {
  readonly name: string;
  readonly arch: string;
  /** "plain", or the ablation that the entry belongs to */
  readonly group: string;
  readonly seed: number;
  readonly status: string;
  readonly error: Names<"message" | "where" | "hint", string> | null;
  readonly changes: Names<string, unknown>;
  readonly settings: Names<string, unknown>;
  readonly curves?: Names<"step" | "elapsed_s" | "tokens" | "loss" | "score", Values> | null;
  readonly quality:
    | (Score & {
        readonly metrics: Names<string, { readonly value: number | null }>;
        readonly by_length: { readonly unit: string; readonly trained_to: number | null; readonly bins: readonly Bin[] };
        readonly examples: readonly Names<"source" | "reference" | "hypothesis", string>[];
      })
    | null;
  readonly attention: { readonly kinds: Names<string, Focus>; readonly sentences: number } | null;
  readonly influence: (Names<"distance" | "share" | "even", readonly number[]> & { readonly sentences: number }) | null;
  readonly growth:
    | (Names<"lengths" | "ms" | "bytes" | "flops" | "formula_bytes", readonly number[]> & {
        formula: string;
        exponents: Names<string, number>;
      })
    | null;
}

export interface Report extends Names<"title" | "made" | "version" | "command", string> {
  readonly data: Names<string, string | number | null>;
  readonly machine: Names<string, string | number>;
  readonly budget: { readonly kind: string; readonly value: number; readonly matched: boolean; readonly spread: number };
  readonly metric: { readonly name: string; readonly lower_is_better: boolean; readonly signature: string };
  readonly entries: readonly Entry[];
  readonly groups: readonly { label: string; mean: number | null; min: number | null; max: number | null; seeds: readonly number[] }[];
  readonly pairs: readonly { before: string; after: string; delta: number; p: number; resamples: number }[];
  readonly slopes: readonly { entry: string; short: Bin; long: Bin; change: number; ci95: Ends; falls: boolean | null }[];
  readonly summary: readonly string[];
}

// ---------------------------------------------------------------- entries

export const plain = (report: Report): Entry[] => report.entries.filter((entry) => entry.group === "plain");

/** One measured plain entry of each architecture: for what does not depend on the seed. */
export const firsts = (report: Report): Entry[] =>
  plain(report)
    .filter((entry) => entry.status === "completed")
    .filter((entry, i, all) => all.findIndex((other) => other.arch === entry.arch) === i);

/** The series colour of an entry, 1 to 6: that of its architecture, or `more` places after it. */
export function colour(report: Report, entry: Entry, more = 0): number {
  const archs = [...new Set(report.entries.map((other) => other.arch))];
  return ((coloursOf(archs)[archs.indexOf(entry.arch)] - 1 + more) % 6) + 1;
}

/** The plain entry that an ablation changes: same architecture, and same seed if there is one. */
export function base(report: Report, entry: Entry): Entry | undefined {
  const same = plain(report).filter((other) => other.arch === entry.arch);
  return same.find((other) => other.seed === entry.seed) ?? same[0];
}

/** A number inside an entry, by its path, such as `speed.ms_per_sentence.median`. */
export function value(entry: Entry, path: string): number | null {
  let found: unknown = entry;
  for (const key of path.split(".")) found = (found as Record<string, unknown> | null | undefined)?.[key];
  return typeof found === "number" ? found : null;
}

// ---------------------------------------------------------------- words

export const metricName = (metric: string): string => named(metric, { exact: "exact match" });
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
export const joined = (names: readonly string[]): string => [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" and ");
export const count = (n: unknown): string => Number(n).toLocaleString("en");
export const text = (x: number | null | undefined, write: (x: number) => string): string =>
  x === null || x === undefined ? "–" : write(x);
/** One decimal; a tie goes to the even digit, as in the sentences of the summary. */
export const score = (x: number): string => fixed(Math.abs(x * 4) % 4 === 1 ? x - 0.01 * Math.sign(x) : x, 1);
const change = (x: number) => signed(x, 1);
const chance = (p: number) => (p < 0.0005 ? "< 0.001" : fixed(p, 3));

/** A value and its 95 % interval: `68.3 [67.0, 69.5]`. */
export const withInterval = (one: { readonly value: number | null; readonly ci95: Ends } | null | undefined, write = score): string =>
  text(one?.value, write) + (one?.ci95 ? ` [${one.ci95.map(write).join(", ")}]` : "");

/** Bytes in thousands: 1 kB is 1,000 bytes. */
export function size(bytes: number): string {
  const power = Math.min(4, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return `${number(Number((bytes / 1000 ** power).toPrecision(3)))} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

/** Seconds in words: 71 s, 3 min 5 s. */
export const clock = (s: number): string =>
  s < 180 ? `${number(Number(s.toFixed(1)))} s` : `${Math.floor(Math.round(s) / 60)} min ${Math.round(s) % 60} s`;

export const budgetText = ({ kind, value: most }: Report["budget"]): string =>
  kind === "time" ? `${clock(most)} of training` : kind === "steps" ? `${count(most)} steps` : `${most.toPrecision(3)} FLOPs`;

/** What was compared on what, in one sentence, and how far the sizes are apart. */
export function lead({ data, budget, ...report }: Report): string {
  const archs = [...new Set(plain({ data, budget, ...report }).map((entry) => entry.arch))];
  const said = `${joined(archs)}, trained on the same ${count(data.train)} pairs of ${data.name}, ${budgetText(budget)} each, tested on ${count(data.test)} pairs.`;
  const apart = `the largest is ${number(Number((100 * budget.spread).toFixed(1)))} % above the smallest.`;
  return archs.length < 2 ? said : `${said} Parameter counts are ${budget.matched ? "" : "not "}matched: ${apart}`;
}

// ---------------------------------------------------------------- lengths

export const bins = (entry: Entry): readonly Bin[] => entry.quality?.by_length.bins ?? [];
export const binName = ({ lo, hi }: Bin): string => (hi === null ? `${lo}+` : lo === hi ? `${lo}` : `${lo}–${hi}`);
/** What lengths are counted in: `source words`. */
export const unit = (entries: readonly Entry[]): string =>
  (entries.find((entry) => entry.quality)?.quality?.by_length.unit ?? "source_length").replace("_", " ");

/** All bins of some entries, in rising length. */
export function allBins(entries: readonly Entry[]): Bin[] {
  const found = new Map(entries.flatMap(bins).map((bin) => [binName(bin), bin]));
  return [...found.values()].sort((a, b) => a.lo - b.lo || (a.hi ?? Infinity) - (b.hi ?? Infinity));
}

// ---------------------------------------------------------------- tables

export function lengthTable(entries: readonly Entry[]): TableData {
  const rows = allBins(entries).map((bin) => [
    binName(bin) + (bin.beyond ? " (beyond training)" : ""),
    bin.n,
    ...entries.map((entry) => withInterval(bins(entry).find((mine) => binName(mine) === binName(bin)))),
  ]);
  return { head: [unit(entries), "sentences", ...entries.map((entry) => entry.name)], rows };
}

const end = (bin: Bin | undefined): string => (bin ? `${withInterval(bin)} at ${binName(bin)}` : "–");

/** From short to long sources: what each plain model loses, and whether intervals say so. */
export function slopeTable(report: Report): TableData {
  const names = new Set(plain(report).map((entry) => entry.name));
  const verdict = ({ falls, ci95 }: Report["slopes"][number]) =>
    falls
      ? "falls: the intervals do not overlap"
      : falls === false
        ? "shows no fall"
        : ci95
          ? "open: the intervals do not decide"
          : "not known";
  const rows = report.slopes
    .filter(({ entry }) => names.has(entry))
    .map((one) => [one.entry, end(one.short), end(one.long), withInterval({ ...one, value: one.change }, change), verdict(one)]);
  return { head: ["model", "short sources", "long sources", "change", "verdict"], rows };
}

export function beyondTable(entries: readonly Entry[]): TableData {
  const rows = entries.flatMap((entry) => {
    const last = bins(entry).findLast((bin) => !bin.beyond);
    return bins(entry).flatMap((bin) => (bin.beyond ? [[entry.name, end(last), end(bin), bin.n]] : []));
  });
  return { head: ["model", "longest bin of training", "beyond", "sentences beyond"], rows };
}

export function mainTable(report: Report): TableData {
  const known = new Set([report.metric.name, ...report.entries.flatMap((entry) => Object.keys(entry.quality?.metrics ?? {}))]);
  const [, ...others] = known;
  const rows = report.entries.map((entry) => [
    entry.name + (entry.status === "completed" ? "" : ` (${entry.status})`),
    withInterval(entry.quality),
    ...others.map((name) => text(entry.quality?.metrics[name]?.value, score)),
    ...["parameters", "steps", "tokens"].map((key) => text(value(entry, key), short)),
    text(value(entry, "train_s"), clock),
    text(value(entry, "speed.ms_per_sentence.median"), score),
  ]);
  return { head: ["model", ...[...known].map(metricName), "parameters", "steps", "tokens", "training", "ms per sentence"], rows };
}

export function seedTable(report: Report): TableData {
  const groups = report.groups.filter((group) => group.seeds.length > 1);
  const rows = groups.map(({ label, mean, min, max, seeds }) => [label, ...[mean, min, max].map((x) => text(x, score)), seeds.join(", ")]);
  return { head: ["", `mean ${metricName(report.metric.name)}`, "lowest", "highest", "seeds"], rows };
}

export function pairTable(report: Report): TableData {
  const rows = report.pairs.map(({ before, after, delta, p, resamples }) => [`${before} → ${after}`, change(delta), chance(p), resamples]);
  return { head: ["step", `change in ${metricName(report.metric.name)}`, "p", "resamples"], rows };
}

const MEANINGS: Readonly<Record<string, string>> = {
  "model.scaled=false": "scores are not divided by √d_k",
  "model.residual=false": "no residual connections",
  'model.norm="none"': "no layer norm",
  "model.heads=1": "one head",
  'model.positions="none"': "no positions",
};

/** Changed settings, in words where there are better ones. */
const changes = (entry: Entry): string =>
  Object.entries(entry.changes)
    .map(([name, to]) => `${name}=${JSON.stringify(to)}`)
    .map((setting) => (MEANINGS[setting] ? `${MEANINGS[setting]} (${setting})` : setting))
    .join("; ");

export function ablationTable(report: Report, of: string | undefined, changed: readonly Entry[]): TableData {
  const rows = changed.map((entry) => {
    const pair = report.pairs.find((one) => one.before === of && one.after === entry.name);
    return [entry.name, changes(entry), withInterval(entry.quality), text(pair?.delta, change), text(pair?.p, chance), entry.status];
  });
  return { head: ["ablation", "what changed", metricName(report.metric.name), "against plain", "p", "status"], rows };
}

/** Settings in which entries differ, and those that all share. */
export function settingTables(report: Report): { readonly different: TableData; readonly same: TableData } {
  const entries = report.entries.filter((entry) => Object.keys(entry.settings).length > 0);
  const write = (x: unknown) => (x === undefined || x === null ? "–" : typeof x === "string" ? x : JSON.stringify(x));
  const names = [...new Set(entries.flatMap((entry) => Object.keys(entry.settings)))].sort();
  const rows = names.map((name) => [name, ...entries.map((entry) => write(entry.settings[name]))]);
  const differs = ([, ...found]: readonly string[]) => new Set(found).size > 1;
  return {
    different: { head: ["setting", ...entries.map((entry) => entry.name)], rows: rows.filter(differs) },
    same: { head: ["setting", "value"], rows: rows.filter((row) => !differs(row)).map((row) => row.slice(0, 2)) },
  };
}

/** Where an axis ends: at 100 for a metric that does and comes near, null where it may end where it likes. */
export const top = (metric: string, values: readonly (number | null | undefined)[]): number | null =>
  outOf100(metric) && Math.max(...values.map((x) => x ?? 0)) > 94 ? 100 : null;

// ---------------------------------------------------------------- examples

export interface Example {
  readonly source: string;
  readonly reference: string;
  readonly answers: { readonly entry: Entry; readonly text: string }[];
}

const SHOWN = 8;

/** Sentences that not all plain models answer alike, or all of a lone one; those that some get right first. */
export function telling(report: Report): Example[] {
  const entries = plain(report).filter((entry) => entry.quality?.examples.length);
  const found = new Map<string, Example>();
  for (const entry of entries)
    for (const { source, reference, hypothesis } of entry.quality!.examples) {
      const key = JSON.stringify([source, reference]);
      if (!found.has(key)) found.set(key, { source, reference, answers: [] });
      found.get(key)!.answers.push({ entry, text: hypothesis });
    }
  const mixed = ({ reference, answers }: Example) => new Set(answers.map((answer) => answer.text.trim() === reference.trim())).size > 1;
  return [...found.values()]
    .filter(({ answers }) => entries.length === 1 || new Set(answers.map((answer) => answer.text)).size > 1)
    .sort((a, b) => b.answers.length - a.answers.length || Number(mixed(b)) - Number(mixed(a)))
    .slice(0, SHOWN);
}
