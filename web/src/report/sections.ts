/** The sections of a report as data: figures and tables, ready to be drawn. A section without any is left out. */
import type { Line, LineChartProps } from "../components/LineChart";
import type { Row, RowChartProps } from "../components/RowChart";
import type { TableData } from "../lib/csv";
import { fixed, number, short, signed } from "../lib/format";
import * as of from "../lib/report";
import type { Entry, Focus, Report } from "../lib/report";
import { examples, settings } from "./words";

interface Framed {
  readonly id: string;
  readonly title: string;
  readonly caption?: string;
  readonly table?: TableData;
}
export type Lines = Framed & Omit<LineChartProps, "name">;
export type Rows = Framed & Omit<RowChartProps, "name">;

export interface SectionData {
  readonly id: string;
  readonly title: string;
  readonly lead: string;
  readonly figures?: readonly (Lines | Rows | null)[];
  readonly cards?: readonly (readonly Fact[])[];
  readonly tables?: readonly { readonly title: string; readonly data: TableData; readonly folded?: boolean }[];
}

export interface Fact {
  readonly name: string;
  readonly text: string;
  readonly colour?: number;
  readonly lang?: string;
  /** what the text should have been */
  readonly reference?: string;
}

export const sectionsOf = (report: Report): SectionData[] =>
  [sideBySide, lengths, learning, speed, growth, attention, beyond, ablations, examples, settings]
    .map((make) => make(report))
    .map((section) => ({ ...section, tables: section.tables?.filter(({ data }) => data.rows.length > 0) }))
    .filter(({ figures = [], tables = [], cards = [] }) => tables.length + cards.length > 0 || figures.some((figure) => figure !== null));

// ---------------------------------------------------------------- quality

const metric = (report: Report) => of.metricName(report.metric.name);
const better = (report: Report) => `${report.metric.lower_is_better ? "lower" : "higher"} is better`;

/** Entries as rows with their quality, or with what became of them. */
function qualityRows(
  report: Report,
  entries: readonly Entry[],
  label = (entry: Entry) => entry.name,
  more = (_: Entry) => "",
): Omit<Rows, keyof Framed> {
  const rows = entries.map((entry): Row => {
    const { value = null, ci95 = null, n = 0 } = entry.quality ?? {};
    const row = { label: label(entry), colour: of.colour(report, entry), marks: [], text: entry.status };
    if (value === null) return row;
    const tip = `${entry.name}: ${metric(report)} ${of.withInterval(entry.quality)}, ${of.count(n)} sentences`;
    return {
      ...row,
      marks: [{ value, ends: ci95, tip }],
      text: more(entry) ? `${of.score(value)} (${more(entry)})` : of.withInterval(entry.quality),
    };
  });
  const ends = entries.map((entry) => entry.quality?.ci95?.[1] ?? entry.quality?.value);
  const most = of.top(report.metric.name, ends);
  return { rows, xLabel: `${metric(report)}${report.metric.name === "exact" ? " in %" : ""}, ${better(report)}`, range: [null, most] };
}

function sideBySide(report: Report): SectionData {
  const title = `${of.capital(metric(report))} of each model`;
  const main = of.mainTable(report);
  const rows = qualityRows(report, of.plain(report));
  const tests = "Paired tests: both models on the same resampled sentences; p is how often chance alone does as much";
  return {
    id: "table",
    title: "Side by side",
    lead: `${of.capital(metric(report))} on the test pairs; ${better(report)}. The line through each mark is its 95 % interval: another draw of test sentences would most often land inside it.`,
    figures: [rows.rows.some((row) => row.marks.length > 0) ? { id: "fig-quality", title, table: main, ...rows } : null],
    tables: [
      { title: "All models", data: main },
      { title: "Over seeds", data: of.seedTable(report) },
      { title: tests, data: of.pairTable(report) },
    ],
  };
}

// ---------------------------------------------------------------- lengths

/** Quality over all length bins of some entries, one line each; null when no bin has a value. */
function lengthFigure(report: Report, entries: readonly Entry[], id: string, title: string, label: (entry: Entry) => string): Lines | null {
  const all = of.allBins(entries);
  if (all.every((bin) => bin.value === null)) return null;
  const places = new Map(all.map((bin, i) => [of.binName(bin), i]));
  const alone = new Set(entries.map((entry) => entry.arch)).size === 1;
  const lines = entries.map((entry, i): Line => {
    const mine = of.bins(entry);
    const x = mine.map((bin) => places.get(of.binName(bin))!);
    const [low, high] = [0, 1].map((n) => mine.map((bin) => bin.ci95?.[n] ?? null));
    const look = { id: entry.name, label: label(entry), colour: of.colour(report, entry, alone ? i : 0), dots: true };
    return { ...look, x, y: mine.map((bin) => bin.value), low, high, thin: mine.map((bin) => bin.thin === true) };
  });
  const ends = lines.flatMap((line) => [...line.y, ...line.high!]);
  const most = of.top(report.metric.name, ends);
  const from = all.findIndex((bin) => bin.beyond);
  const trained = entries.at(-1)!.quality?.by_length.trained_to;
  const thin = all.some((bin) => bin.thin) ? "A hollow mark stands on fewer than 30 sentences." : "";
  const grey = from < 0 ? "" : `Grey: beyond training${trained ? `, over ${trained} ${of.unit(entries)}` : ""}.`;
  return {
    id,
    title,
    lines,
    table: of.lengthTable(entries),
    caption: `${thin} ${grey}`.trim(),
    height: 280,
    xLabel: of.unit(entries),
    xTicks: all.map((bin, at) => ({ at, label: of.binName(bin) })),
    xRange: [-0.5, all.length - 0.5],
    yRange: [null, most],
    formatX: (at) => (all[at] ? of.binName(all[at]) : ""),
    formatY: of.score,
    bars: { label: "sentences", items: all.map((bin, i) => ({ from: i - 0.4, to: i + 0.4, n: bin.n, thin: bin.thin })) },
    ranges: from < 0 ? [] : [{ from: from - 0.5, to: all.length - 0.5 }],
  };
}

function lengths(report: Report): SectionData {
  const entries = of.plain(report).filter((entry) => of.bins(entry).length > 0);
  return {
    id: "length",
    title: "Quality by source length",
    lead: `The test pairs in bins by length, counted in ${of.unit(entries)}. The band around each line is the 95 % interval: where two bands are apart, chance does not explain the difference.`,
    figures: [lengthFigure(report, entries, "fig-length", `${of.capital(metric(report))} by source length`, (entry) => entry.name)],
    tables: [{ title: "From short to long sources", data: of.slopeTable(report) }],
  };
}

const goesBeyond = (entry: Entry) => of.bins(entry).some((bin) => bin.beyond);
/** Whether an entry learned from short pairs alone, to try a kind of positions. */
const triesPositions = (entry: Entry) => entry.group.startsWith("positions");

function kindOf(entry: Entry): string {
  const kind = String(entry.settings["model.positions"] ?? entry.changes["model.positions"] ?? "");
  if (!triesPositions(entry)) return kind ? `${kind}, trained on all lengths` : entry.name;
  return kind === "none" ? "no positions" : `${kind} positions`;
}

function beyond(report: Report): SectionData {
  const tested = report.entries.filter(goesBeyond);
  const changed = tested.filter(triesPositions);
  const names = (entry: Entry) => of.bins(entry).map(of.binName).join();
  // a model that learned from other lengths has other bins, which no axis can share
  const bases = new Set(changed.flatMap((entry) => of.base(report, entry) ?? []));
  const shared = [...bases, ...changed].filter((entry) => names(entry) === names(changed[0]));
  const short = changed.length > 0 ? " To try kinds of positions, models learned from the shorter pairs alone." : "";
  return {
    id: "beyond",
    title: "Beyond the lengths of training",
    lead: `Test sources longer than every source that the model learned from, next to the longest bin that its training still covered.${short}`,
    figures: [lengthFigure(report, shared, "fig-beyond", `${of.capital(metric(report))} by kind of positions`, kindOf)],
    tables: [{ title: "Before and beyond", data: of.beyondTable(tested) }],
  };
}

function ablations(report: Report): SectionData {
  const changed = report.entries.filter((entry) => entry.group !== "plain" && !(triesPositions(entry) && goesBeyond(entry)));
  const groups = [...new Set(changed.map((entry) => of.base(report, entry)))].map((base, n) => {
    const mine = changed.filter((entry) => of.base(report, entry) === base);
    const all = base ? [base, ...mine] : mine;
    const title = `${base?.name ?? mine[0].arch} without its parts`;
    const table = of.ablationTable(report, base?.name, mine);
    const label = (entry: Entry) => (entry === base ? "plain" : entry.name.slice(entry.name.indexOf(" ") + 1));
    const delta = (entry: Entry) => report.pairs.find((pair) => pair.before === base?.name && pair.after === entry.name)?.delta;
    const rows = qualityRows(report, all, label, (entry) => (delta(entry) === undefined ? "" : signed(delta(entry)!, 1)));
    const curves = { id: `fig-ablation-curves-${n + 1}`, title: "Loss while they learned" };
    const figure = { id: `fig-ablations-${n + 1}`, title, table, ...rows, level: base?.quality?.value };
    return { figures: [figure, curve(report, all, "tokens", "loss", curves, label)], table: { title, data: table } };
  });
  return {
    id: "ablations",
    title: "Parts taken away",
    lead: "Each row is the same training with one setting changed. The vertical line is the plain model; an interval that stays clear of it is a difference that chance does not explain.",
    figures: groups.flatMap((group) => group.figures),
    tables: groups.map((group) => group.table),
  };
}

// ---------------------------------------------------------------- cost

/** Quality or loss on the validation pairs against time or tokens; null when no entry has it. */
function curve(
  report: Report,
  entries: readonly Entry[],
  over: "elapsed_s" | "tokens",
  what: "score" | "loss",
  frame: Framed,
  label?: (entry: Entry) => string,
): Lines | null {
  const lines = entries.flatMap((entry, i): Line[] => {
    const { [over]: x = [], [what]: y = [] } = entry.curves ?? {};
    const kept = x.flatMap((at, n) => (at === null ? [] : [n]));
    const look = {
      id: entry.name,
      label: (label ?? ((one) => one.name))(entry),
      colour: of.colour(report, entry, label ? i : 0),
      dots: true,
      dashed: i >= 6,
    };
    return kept.some((n) => y[n] !== null) ? [{ ...look, x: kept.map((n) => x[n]!), y: kept.map((n) => y[n]) }] : [];
  });
  const watched = String(entries[0]?.settings["training.metric"] ?? report.metric.name); // what training looked at
  const values = lines.flatMap((line) => line.y);
  const most = what === "score" ? of.top(watched, values) : null;
  const x = over === "tokens" ? { xLabel: "tokens", caption: "Tokens of both sides." } : { xLabel: "training", xKind: "time" as const };
  const formatY = (y: number) => fixed(y, what === "loss" ? 3 : 1);
  return lines.length === 0 ? null : { ...frame, lines, ...x, xRange: [0, null], yRange: [null, most], formatY };
}

function learning(report: Report): SectionData {
  const watched = String(of.plain(report)[0]?.settings["training.metric"] ?? report.metric.name);
  const figure = (what: "score" | "loss", over: "elapsed_s" | "tokens") => {
    const [of_, against] = [what === "loss" ? "Loss" : of.capital(of.metricName(watched)), over === "tokens" ? over : "time"];
    return curve(report, of.plain(report), over, what, { id: `fig-${what}-${against}`, title: `${of_} against ${against}` });
  };
  return {
    id: "learning",
    title: "How they learned",
    lead: "Each mark is one look at the validation pairs during training. Against time a model gains from being fast; against tokens it gains only from learning more out of the same text.",
    figures: [figure("score", "elapsed_s"), figure("score", "tokens"), figure("loss", "elapsed_s"), figure("loss", "tokens")],
  };
}

const SPEEDS = [
  { id: "fig-train-speed", title: "Training", path: "speed.train_tokens_per_s", unit: "tokens of both sides a second", write: short },
  { id: "fig-decode-speed", title: "Decoding", path: "speed.sentences_per_s", unit: "sentences a second", write: short },
  { id: "fig-token-speed", title: "Decoding, tokens", path: "speed.target_tokens_per_s", unit: "target tokens a second", write: short },
  { id: "fig-latency", title: "One sentence alone", path: "speed.ms_per_sentence.median", unit: "milliseconds, the median", write: number },
  {
    id: "fig-train-memory",
    title: "Memory of training",
    path: "memory.train_peak_bytes",
    unit: "bytes of tensors at its peak",
    write: of.size,
  },
  {
    id: "fig-decode-memory",
    title: "Memory of decoding",
    path: "memory.decode_peak_bytes",
    unit: "bytes of tensors at its peak",
    write: of.size,
  },
];
const SLOW = { title: "One sentence alone", path: "speed.ms_per_sentence.p95", unit: "milliseconds, 95th percentile", write: number };

function speed(report: Report): SectionData {
  const entries = of.firsts(report);
  const columns = [...SPEEDS.slice(0, 4), SLOW, ...SPEEDS.slice(4)];
  const cells = report.entries.map((entry) => [entry.name, ...columns.map(({ path, write }) => of.text(of.value(entry, path), write))]);
  const table = { head: ["model", ...columns.map(({ title, unit }) => `${title}: ${unit}`)], rows: cells };
  const threads = report.machine.device === "cpu" && entries[0] ? of.value(entries[0], "speed.threads") : null;
  const seeded = new Set(of.plain(report).map((entry) => entry.arch)).size < of.plain(report).length;
  const notes = [
    threads ? ` Decoding used ${threads} thread${threads === 1 ? "" : "s"}.` : "",
    seeded ? " The bars are those of the first seed." : "",
  ];
  const figures = SPEEDS.map(({ id, title, path, unit, write }) => {
    const rows = entries.flatMap((entry): Row[] => {
      const value = of.value(entry, path);
      return value === null ? [] : [{ label: entry.arch, colour: of.colour(report, entry), marks: [{ value }], text: write(value) }];
    });
    return rows.length === 0 ? null : { id, title, caption: of.capital(unit), table, rows, bars: true };
  });
  return {
    id: "speed",
    title: "Speed and memory",
    lead: `Measured on one machine, one model after the other. In time and memory, shorter bars are better.${notes.join("")}`,
    figures,
    tables: figures.some(Boolean) ? [{ title: "Numbers of all models", data: table, folded: true }] : [],
  };
}

const GROWTH = [
  // memory is what is kept for the backward pass
  { id: "fig-growth-time", title: "Time, measured", what: "ms", formatY: (y: number) => `${number(y)} ms` },
  { id: "fig-growth-memory", title: "Memory, measured", what: "bytes", formatY: of.size },
  { id: "fig-growth-flops", title: "Arithmetic, by formula", what: "flops", formatY: (y: number) => `${y.toPrecision(3)} FLOPs` },
] as const;

/** Time and memory of one pass against length as measured, and dashed what the formula says. */
function growth(report: Report): SectionData {
  const entries = of.firsts(report).flatMap((entry) => (entry.growth ? [{ entry, grown: entry.growth }] : []));
  const at = [...new Set(entries.flatMap(({ grown }) => grown.lengths))].sort((a, b) => a - b);
  const figures = GROWTH.map(({ what, ...frame }): Lines => {
    const lines = entries.flatMap(({ entry, grown }): Line[] => {
      const factor = (grown.ms.at(-1) ?? 0) / (grown.flops.at(-1) || 1); // the formula meets the last measured time
      const formula = { ms: grown.flops.map((n) => n * factor), bytes: grown.formula_bytes, flops: null }[what];
      const line = { id: entry.arch, label: entry.arch, colour: of.colour(report, entry), x: grown.lengths, y: grown[what], dots: true };
      return formula
        ? [line, { ...line, id: `${entry.arch}-formula`, label: `${entry.arch}, formula`, y: formula, dots: false, dashed: true }]
        : [line];
    });
    return { ...frame, lines, xLabel: "tokens of each side", xTicks: at.map((n) => ({ at: n, label: String(n) })), log: true, logX: true };
  });
  const powers = (found: Readonly<Record<string, number>>) =>
    ["ms", "bytes", "flops"].map((key) => of.text(found[key], (power) => `n^${fixed(power, 2)}`));
  const rows = entries.map(({ entry, grown }) => [entry.arch, grown.formula, ...powers(grown.exponents)]);
  const letters =
    "S source and T target length, D width, F inner width, V vocabulary, N layers, d directions of the encoder, h = D/d, G gates of a cell";
  return {
    id: "growth",
    title: "How the cost grows with length",
    lead: "One forward pass with its loss; source and target have the same length. Both axes are logarithmic: a cost that doubles with the length is half as steep as one that grows with its square. Dashed: the formula. Its FLOPs are scaled to meet the last measured time; its bytes are those that the matrix products leave.",
    figures: entries.length > 0 ? figures : [],
    tables: [{ title: `The formulas: ${letters}`, data: { head: ["architecture", "FLOPs of a pass", "time", "memory", "formula"], rows } }],
  };
}

// ---------------------------------------------------------------- attention

const KINDS: Readonly<Record<string, string>> = { cross: "cross", enc_self: "encoder", dec_self: "decoder" };

function attention(report: Report): SectionData {
  const entries = of.firsts(report);
  const found = entries.flatMap((entry) =>
    Object.entries(entry.attention?.kinds ?? {})
      .sort(([a], [b]) => Number(b === "cross") - Number(a === "cross"))
      .map(([kind, focus]) => ({
        focus,
        colour: of.colour(report, entry),
        label: `${entry.arch} ${KINDS[kind] ?? kind}`,
        n: entry.attention!.sentences,
      })),
  );
  const heads = found.flatMap(({ focus, colour, label }) =>
    focus.by_layer.map((layer, l): Row => {
      const tip = (bits: number, h: number) => `head ${h + 1} of layer ${l + 1}: ${fixed(bits, 2)} bits`;
      const marks = layer.flatMap((value, h) => (value === null ? [] : [{ value, tip: tip(value, h) }]));
      return { label: focus.by_layer.length > 1 ? `${label} ${l + 1}` : label, colour, marks, text: "" };
    }),
  );
  const bits = (focus: Focus) => focus.by_layer.map((layer) => layer.map((x) => of.text(x, (one) => fixed(one, 2))).join(", ")).join("; ");
  const table = {
    head: ["attention", "entropy, bits", "even attention, bits", "sharpness", "entropy of heads, by layer", "sentences"],
    rows: found.map(({ focus, label, n }) => [label, focus.entropy_bits, focus.max_entropy_bits, focus.sharpness, bits(focus), n]),
  };
  const bars = (id: string, title: string, caption: string, key: "entropy_bits" | "sharpness", most: (focus: Focus) => number): Rows => {
    const row = ({ focus, colour, label }: (typeof found)[number]): Row => {
      return { label, colour, marks: [{ value: focus[key] }], text: fixed(focus[key], 2), most: most(focus) };
    };
    return { id, title, caption, table, rows: found.map(row), bars: true };
  };
  const entropy = bars("fig-entropy", "Entropy", "In bits.", "entropy_bits", (focus) => focus.max_entropy_bits);
  const sharpness = bars("fig-sharpness", "Sharpness", "The mean largest weight.", "sharpness", () => 1);
  const dots = { caption: "One dot per head; the number is the layer.", table, rows: heads, xLabel: "bits", range: [0, null] as const };
  const without = entries.filter((entry) => !entry.attention).map((entry) => entry.arch);
  const none =
    found.length > 0 && without.length > 0
      ? ` ${of.joined(without)} ${without.length === 1 ? "has" : "have"} no attention to measure.`
      : "";
  return {
    id: "attention",
    title: "Where the models look",
    lead: `Cross-attention looks from the output at the source, encoder attention stays inside the source, decoder attention inside the output. Entropy says over how many places a head spreads its weight: 0 bits is one place, the pale bar is even attention to all. Sharpness is the mean of the largest weight. Influence needs no attention: it asks how much the output moves when a source word is hidden, by the distance between their places: 0 is the same place in both sentences, 1 the other end.${none}`,
    figures: [
      ...(found.length > 0 ? [entropy, sharpness] : []),
      heads.some((row) => row.marks.length > 1) ? { id: "fig-heads", title: "Entropy of every head", ...dots } : null,
      influence(report, entries),
    ],
    tables: [{ title: "Numbers of attention", data: table, folded: true }],
  };
}

/** How influence is shared out over distances, beside what it would be if all words counted alike. */
function influence(report: Report, entries: readonly Entry[]): Lines | null {
  const moved = entries.flatMap((entry) => (entry.influence ? [{ entry, ...entry.influence }] : []));
  if (moved.length === 0) return null;
  const lines = moved.map(({ entry, distance, share }): Line => {
    return { id: entry.arch, label: entry.arch, colour: of.colour(report, entry), x: distance, y: share, dots: true };
  });
  const even = { id: "even", label: "all alike", colour: 6, x: moved[0].distance, y: moved[0].even, dashed: true };
  const counts = [...new Set(moved.map(({ sentences }) => of.count(sentences)))].join(" or ");
  return {
    id: "fig-influence",
    title: "Influence by distance",
    caption: `Share of all influence, over ${counts} test sentences.`,
    lines: [...lines, even],
    xLabel: "distance",
    xRange: [0, null],
    yRange: [0, null],
    formatY: (share) => `${fixed(100 * share, 1)} %`,
  };
}
