// Made-up but consistent answers of the server for development: three small models that rewrite Korean dates.
// Every attention tensor is computed from its q, k and v, so the arithmetic on the page adds up here too.
import { createHash } from "node:crypto";

const KIND = { layers: 3, heads: 4, d_head: 16 };
const card = (name, arch, kinds, extra = {}) => ({
  name,
  arch,
  source_language: "ko",
  target_language: "iso",
  parameters: { rnn: 1_204_480, luong: 1_368_320, transformer: 1_871_360 }[arch],
  fingerprint: "sha256:" + createHash("sha256").update(name).digest("hex"),
  max_length: 64,
  members: [],
  positions: arch === "transformer" ? "sinusoidal" : null,
  d_model: 64,
  kinds,
  decoding: { beam: 4, length_penalty: 1.0, max_len: 64 },
  limits: { texts: 64, characters: 5000, tokens: 512 },
  run: name,
  examples: ["1998년 3월 24일 화요일", "2021년 시월 9일 토요일", "서기 1945년 팔월 십오일", "07. 12. 31. 월"],
  ...extra,
});
const MODELS = [
  card("dates-rnn", "rnn", {}),
  card("dates-luong", "luong", { cross: { layers: 1, heads: 1, d_head: 64 } }, { score: "general" }),
  card("dates-transformer", "transformer", { enc_self: KIND, dec_self: KIND, cross: KIND }, { score: "scaled_dot" }),
];

function random(seed) {
  let state = createHash("sha256").update(String(seed)).digest().readUInt32LE(0);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}
const gauss = (next) => Math.sqrt(-2 * Math.log(next() + 1e-9)) * Math.cos(6.2831853 * next());

// ------------------------------------------------------------------ text
const NUMBERS = { 일: 1, 이: 2, 삼: 3, 사: 4, 오: 5, 유: 6, 육: 6, 칠: 7, 팔: 8, 구: 9, 십: 10, 시: 10, 십일: 11, 십이: 12, 십오: 15 };
function rewrite(text) {
  const y = /(\d{4})\s*년/.exec(text)?.[1] ?? (/^(\d\d)\./.test(text) ? "20" + text.slice(0, 2) : "2000");
  const read = (unit) => {
    const found = new RegExp(`(\\d{1,2}|[일이삼사오유육칠팔구십시]+)\\s*${unit}`).exec(text.replace(/\d{4}\s*년/, ""))?.[1];
    return String(found ? (NUMBERS[found] ?? Number(found)) : 1)
      .padStart(2, "0")
      .replace("NaN", "01");
  };
  return `${y}-${read("월")}-${read("일")}`;
}
function side(text, lang, target) {
  const tokens = [];
  const words = [];
  const re = target ? /\d\d|-|[^\d-]/gu : /\d{1,4}|[가-힣]|[A-Za-z]+|[^\s\dA-Za-z가-힣]/gu;
  let word = -1;
  let end = -1;
  for (const found of text.matchAll(re)) {
    const from = [...text.slice(0, found.index)].length;
    const to = from + [...found[0]].length;
    if (from !== end || word < 0 || target) {
      word++;
      words.push({ i: word, text: "", tokens: [] });
    }
    const space = from !== end && from > 0 && !target;
    end = to;
    words[word].text += found[0];
    words[word].tokens.push(tokens.length);
    tokens.push({
      i: tokens.length,
      id: 300 + (found[0].codePointAt(0) % 700),
      text: found[0],
      piece: (space || from === 0 ? "▁" : "") + found[0],
      type: "normal",
      span: [from, to],
      word,
    });
  }
  tokens.push({ i: tokens.length, id: 2, text: "</s>", piece: "</s>", type: "special", span: null, word: null });
  return { text, lang, dir: /[\u0590-\u08ff]/.test(text) ? "rtl" : "ltr", tokens, words };
}

// ------------------------------------------------------------------ attention
/** Which source position a target position should look at. */
function aligned(source, target) {
  const last = source.tokens.length - 1;
  const digits = source.tokens.filter((token) => /^\d+$/.test(token.text)).map((token) => token.i);
  const words = { 년: -1, 월: -1, 일: -1 };
  for (const token of source.tokens) if (words[token.text] === -1) words[token.text] = token.i;
  let part = 0;
  return target.tokens.map((token) => {
    if (token.type === "special") return last;
    if (token.text === "-") return [words.년, words.월][part++] ?? last;
    return digits[part] ?? Math.max(0, [words.년, words.월, words.일][part] ?? 0);
  });
}
function head(trace, kind, layer, index) {
  const size = trace.card.kinds[kind];
  const d = size.d_head;
  const next = random(`${trace.id}${kind}${layer}.${index}`);
  const [Q, K] = [kind === "enc_self" ? trace.source : trace.target, kind === "dec_self" ? trace.target : trace.source].map(
    (s) => s.tokens.length,
  );
  const k = Array.from({ length: K }, () => Array.from({ length: d }, () => gauss(next)));
  const v = Array.from({ length: K }, () => Array.from({ length: d }, () => gauss(next)));
  const align = aligned(trace.source, trace.target);
  const style =
    kind === "cross"
      ? ["aligned", "aligned", "end", "broad"][(index + layer) % 4]
      : ["previous", "self", "broad", "end"][(index + layer) % 4];
  const wanted = (q) => ({ aligned: kind === "cross" ? align[q] : q, previous: Math.max(0, q - 1), self: q, end: K - 1, broad: -1 })[style];
  const strength = (kind === "cross" && trace.card.arch === "luong" ? 6 : 9 + 3 * layer) * (style === "broad" ? 0.2 : 1);
  const q = Array.from({ length: Q }, (_, i) => {
    const at = Math.min(K - 1, wanted(i));
    const norm = at < 0 ? 1 : k[at].reduce((sum, x) => sum + x * x, 0);
    return Array.from({ length: d }, (_, j) => gauss(next) * 0.35 + (at < 0 ? 0 : (k[at][j] * strength) / Math.sqrt(norm) / 1.6));
  });
  const scores = q.map((row) => k.map((key) => row.reduce((sum, x, j) => sum + x * key[j], 0)));
  const allowed = q.map((_, i) => k.map((_, j) => (kind === "dec_self" && j > i ? 0 : 1)));
  const divisor = trace.card.arch === "luong" ? 1 : Math.sqrt(d);
  const scaled = scores.map((row) => row.map((x) => x / divisor));
  const weights = scaled.map((row, i) => {
    const top = Math.max(...row.filter((_, j) => allowed[i][j]));
    const e = row.map((x, j) => (allowed[i][j] ? Math.exp(x - top) : 0));
    const sum = e.reduce((a, b) => a + b, 0);
    return e.map((x) => x / sum);
  });
  const context = weights.map((row) => Array.from({ length: d }, (_, j) => row.reduce((sum, w, i) => sum + w * v[i][j], 0)));
  return { q, k, v, scores, scaled, mask: allowed, weights, context };
}
function fingerprint(trace, kind) {
  const { layers, heads } = trace.card.kinds[kind];
  const names = ["entropy", "distance", "diagonal", "previous", "special", "max", "label"];
  const out = Object.fromEntries(names.map((name) => [name, []]));
  for (let l = 0; l < layers; l++) {
    for (const name of names) out[name].push([]);
    for (let h = 0; h < heads; h++) {
      const { weights } = head(trace, kind, l, h);
      const n = weights.length;
      const mean = (f) => weights.reduce((sum, row, i) => sum + f(row, i), 0) / n;
      const values = {
        entropy: mean((row) => -row.reduce((s, w) => s + (w > 0 ? w * Math.log2(w) : 0), 0)),
        distance: mean((row, i) => row.reduce((s, w, j) => s + w * Math.abs(i - j), 0)),
        diagonal: mean((row, i) => row[i] ?? 0),
        previous: mean((row, i) => row[i - 1] ?? 0),
        special: mean((row) => row[row.length - 1]),
        max: mean((row) => Math.max(...row)),
      };
      values.label =
        values.previous > 0.5
          ? "previous"
          : values.special > 0.5
            ? "special"
            : values.diagonal > 0.5
              ? "diagonal"
              : values.max > 0.6
                ? "sharp"
                : values.entropy > 2.4
                  ? "broad"
                  : "mixed";
      for (const name of names) out[name][l].push(values[name]);
    }
  }
  return out;
}

// ------------------------------------------------------------------ traces
const traces = new Map();
function problem(out, status, code, detail) {
  out.writeHead(status, { "Content-Type": "application/problem+json" });
  out.end(JSON.stringify({ type: "about:blank", title: code, status, detail, code, request_id: "mock" }));
}
function makeTrace(body) {
  const found = MODELS.find((m) => m.name === (body.model ?? MODELS[0].name));
  if (!found) return null;
  const ops = body.interventions ?? [];
  let text = rewrite(body.text);
  if (found.arch === "rnn" && body.text.length > 22) text = text.slice(0, 8) + "11";
  if (ops.length) text = text.slice(0, 5) + "04" + text.slice(7);
  if (body.prefix) text = body.prefix + text.slice(body.prefix.length);
  if (body.target) text = body.target;
  const id = createHash("sha256")
    .update(JSON.stringify([found.name, body]))
    .digest("hex")
    .slice(0, 16);
  const source = side(body.text, "ko", false);
  const target = { ...side(text, "en", true), origin: body.target ? "given" : "decoded" };
  const trace = { id, card: found, source, target, body };
  const next = random(id);
  const steps = target.tokens.map((token, t) => {
    const p = token.type === "special" ? 0.998 : 0.55 + 0.44 * next();
    const others = ["01", "02", "03", "04", "11", "12", "19", "20", "-", "</s>"].filter((x) => x !== token.text).slice(0, 9);
    let rest = 1 - p;
    const top = [{ id: token.id, text: token.text, logprob: Math.log(p) }];
    for (let i = 0; i < 4; i++) {
      const share = rest * 0.55;
      rest -= share;
      top.push({ id: 400 + i, text: others.splice(Math.floor(next() * others.length), 1)[0], logprob: Math.log(share) });
    }
    return { t, id: token.id, logprob: Math.log(p), entropy: -p * Math.log2(p) + (1 - p) * 2, top };
  });
  const score = steps.reduce((sum, step) => sum + step.logprob, 0);
  const attention = {};
  for (const kind of Object.keys(found.kinds)) {
    attention[kind] = {
      q: kind === "enc_self" ? "source" : "target",
      k: kind === "dec_self" ? "target_in" : "source",
      causal: kind === "dec_self",
      stages: ["q", "k", "v", "scores", "scaled", "mask", "weights", "context"],
      atlas: { tensor: `${kind}.atlas` },
      fingerprint: fingerprint(trace, kind),
    };
  }
  const recurrent = found.arch !== "transformer";
  trace.manifest = {
    schema: "trace/1",
    id,
    model: {
      name: found.name,
      arch: found.arch,
      fingerprint: found.fingerprint,
      src_lang: "ko",
      tgt_lang: "iso",
      dtype: "float32",
      device: "cpu",
      d_model: 64,
      positions: found.positions,
      score: found.score ?? null,
      layers: recurrent ? { encoder: 1, decoder: 1 } : { encoder: 3, decoder: 3 },
      kinds: found.kinds,
    },
    source,
    target,
    target_in: shifted(target),
    decode: {
      method: "beam",
      beam: body.beam ?? 4,
      length_penalty: 1,
      max_len: 64,
      seed: null,
      score,
      score_per_token: score / steps.length,
      finished: true,
      ms: 41.2,
    },
    steps,
    attention,
    rnn: recurrent ? { cell: "gru", layers: 1, d_state: 32, gates: null } : null,
    beam: { href: `/v1/traces/${id}/beam` },
    influence: { href: `/v1/traces/${id}/influence` },
    positions: { href: `/v1/models/${found.name}/positions?n=64` },
    interventions: ops,
    warnings: [],
  };
  traces.set(id, trace);
  return trace;
}

/** What the decoder reads: <s>, then the target without its end. */
function shifted(target) {
  const begin = { i: 0, id: 0, text: "<s>", piece: "<s>", type: "special", span: null, word: null };
  const tokens = [begin, ...target.tokens.slice(0, -1).map((token, i) => ({ ...token, i: i + 1 }))];
  return { ...target, tokens, words: target.words.map((word) => ({ ...word, tokens: word.tokens.map((i) => i + 1) })) };
}

function safetensors(entries) {
  const header = {};
  const parts = [];
  let at = 0;
  for (const [name, { shape, data }] of Object.entries(entries)) {
    const bytes = Buffer.from(data.buffer);
    header[name] = { dtype: data instanceof Uint8Array ? "U8" : "F32", shape, data_offsets: [at, at + bytes.length] };
    parts.push(bytes);
    at += bytes.length;
  }
  let text = Buffer.from(JSON.stringify(header));
  if (text.length % 8) text = Buffer.concat([text, Buffer.alloc(8 - (text.length % 8), 32)]);
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([size, text, ...parts]);
}
const flat = (rows, make = Float32Array) => ({ shape: [rows.length, rows[0].length], data: make.from(rows.flat()) });
function states(trace, name, rows, d = 32) {
  const next = random(trace.card.name + name);
  let state = Array.from({ length: d }, () => gauss(next));
  return {
    shape: [rows, d],
    data: Float32Array.from(Array.from({ length: rows }, () => (state = state.map((x) => Math.tanh(0.7 * x + 0.6 * gauss(next))))).flat()),
  };
}
function tensor(trace, need) {
  const [name, slice] = need.split(":");
  const [kind, what] = name.split(".");
  const size = trace.card.kinds[kind];
  const [S, T] = [trace.source.tokens.length, trace.target.tokens.length];
  if (size && what === "atlas") {
    const all = [];
    let shape;
    for (let l = 0; l < size.layers; l++)
      for (let h = 0; h < size.heads; h++) {
        const { weights } = head(trace, kind, l, h);
        shape = [weights.length, weights[0].length];
        all.push(...weights.flat().map((w) => Math.round(255 * Math.sqrt(w))));
      }
    return { shape: [size.layers, size.heads, ...shape], data: Uint8Array.from(all) };
  }
  if (size && what === "out") return states(trace, need, kind === "enc_self" ? S : T, 64);
  if (size && slice) {
    const [l, h] = slice.split(".").map(Number);
    if (l >= size.layers || h >= size.heads) return null;
    const found = head(trace, kind, l, h)[what];
    return found ? flat(found, what === "mask" ? Uint8Array : Float32Array) : null;
  }
  if (name === "rnn.encoder") return states(trace, name, S);
  if (name === "rnn.decoder") return states(trace, name, T);
  if (name === "rnn.bridge") return { shape: [32], data: states(trace, "bridge", 1).data };
  if (kind === "luong" && trace.card.arch === "luong") {
    if (what === "attentional") return states(trace, need, T, 64);
    return flat(head(trace, "cross", 0, 0)[what] ?? [[0]]);
  }
  return null;
}
function influence(trace, unit) {
  const align = aligned(trace.source, trace.target);
  const words = trace.source.words.map((word) => ({ text: word.text, tokens: word.tokens }));
  const pieces = trace.source.tokens.filter((t) => t.type === "normal").map((t) => ({ text: t.text, tokens: [t.i] }));
  const units = unit === "pieces" ? pieces : words;
  const next = random(trace.id + "influence");
  return (
    units.length && {
      units,
      values: trace.target.tokens.map((_, t) => units.map((u) => (u.tokens.includes(align[t]) ? 2.4 + next() * 2 : (next() - 0.45) * 0.5))),
    }
  );
}
function beamTree(trace) {
  const beam = trace.body.beam ?? 4;
  const nodes = [{ n: 0, parent: null, t: -1, id: 0, text: "<s>", logprob: 0, score: 0, norm: 0, state: "chosen" }];
  const chosen = [0];
  let live = [0];
  trace.manifest.steps.forEach((step, t) => {
    const next = random(trace.id + t);
    const grown = [];
    live.forEach((parent, rank) => {
      step.top.slice(0, rank === 0 ? beam : 2).forEach((c, i) => {
        const score = nodes[parent].score + c.logprob - (rank ? next() * 0.4 : 0);
        const n = nodes.length;
        nodes.push({
          n,
          parent,
          t,
          id: c.id,
          text: c.text,
          logprob: c.logprob,
          score,
          norm: score / (t + 1),
          state: "pruned",
          rank: i,
          beam: rank,
        });
        grown.push(n);
      });
    });
    grown.sort((a, b) => nodes[b].score - nodes[a].score);
    for (const n of grown.slice(0, beam)) nodes[n].state = nodes[n].text === "</s>" ? "finished" : "expanded";
    live = grown.slice(0, beam).filter((n) => nodes[n].state === "expanded");
    const main = grown.find((n) => nodes[n].parent === chosen[chosen.length - 1] && nodes[n].rank === 0);
    chosen.push(main);
    if (!live.includes(main) && t < trace.manifest.steps.length - 1) live[live.length - 1] = main;
    live.sort((a, b) => (a === main ? -1 : b === main ? 1 : 0));
  });
  chosen.forEach((n) => (nodes[n].state = "chosen"));
  return {
    schema: "beam/1",
    beam,
    length_penalty: trace.body.length_penalty ?? 1,
    nodes,
    chosen,
    stable_prefix: 4,
    dropped_candidates: "top 3 per hypothesis",
  };
}
const outTokens = (trace) =>
  trace.target.tokens.map((token, t) => ({ text: token.text, id: token.id, logprob: trace.manifest.steps[t].logprob }));

// ------------------------------------------------------------------ runs and evaluations
const RUNS = [
  {
    name: "dates-transformer",
    status: "running",
    arch: "transformer",
    step: 2600,
    max_steps: 4000,
    elapsed_s: 300,
    time_limit: null,
    best: { metric: "chrf", value: 97.8, step: 2500 },
    updated: new Date().toISOString(),
  },
  {
    name: "dates-luong",
    status: "completed",
    arch: "luong",
    step: 4000,
    max_steps: 4000,
    elapsed_s: 300,
    time_limit: null,
    best: { metric: "chrf", value: 99.1, step: 3900 },
    updated: "2026-11-14T08:00:00Z",
  },
  {
    name: "dates-rnn",
    status: "stopped",
    arch: "rnn",
    step: 3100,
    max_steps: 4000,
    elapsed_s: 300,
    time_limit: null,
    best: { metric: "chrf", value: 71.3, step: 3000 },
    updated: "2026-11-14T07:00:00Z",
  },
];
const SERIES = [
  "train.loss",
  "train.nll",
  "train.ppl",
  "train.lr",
  "train.grad_norm",
  "train.tokens_per_s",
  "valid.loss",
  "valid.ppl",
  "valid.bleu",
  "valid.chrf",
];
function series(run, name) {
  const next = random(run.name + name);
  const every = name.startsWith("valid") ? 100 : 10;
  const step = [];
  for (let s = every; s <= run.step; s += every) step.push(s);
  const slow = { rnn: 1500, luong: 700, transformer: 600 }[run.arch];
  const curve =
    {
      "train.loss": (s) => 0.15 + 4.2 * Math.exp(-s / slow) + 0.08 * gauss(next),
      "valid.loss": (s) => 0.2 + 4.1 * Math.exp(-s / slow) + 0.02 * gauss(next),
      "train.lr": (s) => 1e-3 * Math.min(s / 400, Math.sqrt(400 / s)),
      "train.grad_norm": () => 0.8 + 0.25 * Math.abs(gauss(next)),
      "train.tokens_per_s": () => 6200 + 200 * gauss(next),
      "valid.bleu": (s) => 98 * (1 - Math.exp(-s / slow)),
      "valid.chrf": (s) => 99 * (1 - Math.exp(-s / slow / 0.8)),
    }[name] ?? ((s) => 1 + 9 * Math.exp(-s / slow));
  return { step, elapsed_s: step.map((s) => s * 0.21), value: step.map(curve) };
}
function runDetail(run) {
  const samples = [500, 1000, 2000, run.step - (run.step % 100)].map((step, i) => ({
    step,
    samples: [
      ["1998년 3월 24일 화요일", "1998-03-24", ["1999-01-11", "1998-03-21", "1998-03-24", "1998-03-24"][i]],
      ["2021년 시월 9일", "2021-10-09", ["2011-01-01", "2021-01-09", "2021-10-09", "2021-10-09"][i]],
    ].map(([src, ref, hyp]) => ({ src, ref, hyp, score: -0.9 + 0.2 * i })),
  }));
  return {
    ...run,
    config: { model: { arch: run.arch, d_model: 64 }, training: { lr: 1e-3, max_steps: run.max_steps } },
    series: SERIES,
    notices: [{ level: "warning", code: "loss_spike", message: "loss 3.9 is far above the last 100 steps", step: 740 }],
    samples,
    probes: [200, 500, 1000, 1500, 2000, 2500].filter((s) => s <= run.step),
    start:
      run.arch === "luong"
        ? {
            name: "dates-before",
            sha256: "5f".repeat(32),
            metric: "exact",
            series: { "valid.exact": { step: [500, 1000, 1500], elapsed_s: [null, null, null], value: [20, 55, 71] } },
          }
        : null,
  };
}
function evalDoc(model, i) {
  const top = [62, 93, 97][i];
  const bins = [
    [1, 3],
    [4, 6],
    [7, 9],
    [10, 12],
    [13, 15],
  ].map(([lo, hi], b) => {
    const value = top - b * [12, 2.5, 1][i];
    const half = [1.5, 1.8, 2.4, 4, 9][b];
    return {
      lo,
      hi,
      n: [212, 340, 180, 61, 14][b],
      bleu: value - 3,
      bleu_ci95: [value - 3 - half, value - 3 + half],
      chrf: value,
      chrf_ci95: [value - half, value + half],
      length_ratio: 1 - b * 0.02 * (3 - i),
      ...(b === 4 ? { thin: true } : {}),
      exact: Math.max(0, value - 1),
      exact_ci95: [Math.max(0, value - 1 - half), Math.min(100, value - 1 + half)],
      examples: [0, 1, 2].map((j) => b * 10 + j),
    };
  });
  return {
    schema: "eval/1",
    model,
    data: { name: "test", n: 807, sha256: "00" },
    decode: { beam: 4 },
    metrics: {
      bleu: { value: top - 4, ci95: [top - 5.2, top - 2.9], signature: "nrefs:1" },
      chrf: { value: top, ci95: [top - 1, top + 0.9] },
      exact: { value: top - 1, ci95: [top - 2.2, top] },
    },
    length_ratio: 0.99,
    examples: bins.flatMap((bin) =>
      bin.examples.map((line) => ({
        line,
        source: "1998년 3월 24일 화요일",
        reference: "1998-03-24",
        hypothesis: i ? "1998-03-24" : "1998-03-2" + (line % 4),
        chrf: i ? 100 : 80 - (line % 10) * 9,
      })),
    ),
    by_length: { unit: "source_words", bins },
    train_length_histogram: [
      [1, 3, 4100],
      [4, 6, 9200],
      [7, 9, 5100],
      [10, 12, 420],
      [13, 15, 12],
    ],
    speed: { sentences_per_s: 38.2 + 10 * i, target_tokens_per_s: 712, wall_s: 26.2 },
  };
}

// ------------------------------------------------------------------ HTTP
const json = (out, body) => {
  out.writeHead(200, { "Content-Type": "application/json" });
  out.end(JSON.stringify(body));
};
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
async function sse(out, list, gap) {
  out.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const [event, data] of list) {
    if (out.destroyed) return;
    out.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    await sleep(gap);
  }
  out.end();
}

export async function answer(incoming, url, body, out, { empty }) {
  const path = url.pathname.split("/").slice(2).map(decodeURIComponent);
  const stream = (incoming.headers.accept ?? "").includes("event-stream");
  if (url.pathname.startsWith("/health")) return json(out, { status: "ok" });
  if (url.pathname === "/openapi.json") return json(out, { openapi: "3.1.0", info: { title: "jumok", version: "0" }, paths: {} });
  const [what, name, part, rest] = path;
  if (what === "models") {
    if (!name) return json(out, { models: empty ? [] : MODELS });
    const n = Number(url.searchParams.get("n") ?? 64);
    if (part === "positions") {
      const rows = Array.from({ length: n }, (_, p) =>
        Array.from({ length: 64 }, (_, i) => (i % 2 ? Math.cos : Math.sin)(p / 10000 ** ((i - (i % 2)) / 64))),
      );
      return json(out, {
        positions: MODELS.find((m) => m.name === name)?.positions ?? "none",
        rows: name === "dates-transformer" ? rows : null,
      });
    }
    return json(
      out,
      MODELS.find((m) => m.name === name),
    );
  }
  if (what === "trace" || what === "translate" || what === "sweep" || what === "what-if") {
    const trace = makeTrace(what === "translate" && !name ? { ...body, text: body.texts[0] } : body);
    if (!trace) return problem(out, 404, "unknown_model", "no such model");
    if (body.text?.length > 400) return problem(out, 422, "too_long", "the text has more than 400 characters");
    if (what === "trace") return json(out, trace.manifest);
    const alternatives = [
      ["-25", -0.9],
      ["-14", -1.4],
    ].map(([tail, score]) => ({ text: trace.target.text.slice(0, 7) + tail, score: score * 9, score_per_token: score }));
    if (what === "translate" && name === "stream") {
      const tokens = trace.target.tokens.filter((t) => t.type === "normal").map((t) => t.text);
      const partials = tokens.map((_, t) => [
        "partial",
        { t: t + 1, text: tokens.slice(0, t + 1).join(""), tokens: tokens.slice(0, t + 1), stable: t, score: -0.1 * t },
      ]);
      return sse(
        out,
        [
          ["start", { id: trace.id, model: trace.card.name, source_tokens: trace.source.tokens.map((t) => t.text) }],
          ...partials,
          [
            "final",
            {
              text: trace.target.text,
              score: trace.manifest.decode.score,
              score_per_token: trace.manifest.decode.score_per_token,
              alternatives,
              ms: 41.2,
            },
          ],
        ],
        25,
      );
    }
    if (what === "translate")
      return json(out, {
        model: trace.card.name,
        results: [
          {
            text: trace.target.text,
            score: trace.manifest.decode.score,
            score_per_token: trace.manifest.decode.score_per_token,
            finished: true,
            tokens: outTokens(trace),
            alternatives,
          },
        ],
        ms: 40,
      });
    if (what === "what-if") {
      const base = makeTrace({ ...body, interventions: [], prefix: undefined });
      const sides = [base, trace].map((t) => ({ id: t.id, text: t.target.text, score: t.manifest.decode.score, tokens: outTokens(t) }));
      return json(out, {
        baseline: sides[0],
        edited: sides[1],
        diff: [
          { op: "equal", a: [0, 3], b: [0, 3] },
          { op: "replace", a: [3, 4], b: [3, 4] },
          { op: "equal", a: [4, 7], b: [4, 7] },
        ],
        first_divergence: 3,
        baseline_logprob_under_edit: -7.95,
      });
    }
    const kinds = {};
    const rows = [];
    for (const kind of body.kinds ?? Object.keys(trace.card.kinds)) {
      kinds[kind] = Array.from({ length: trace.card.kinds[kind].layers }, (_, layer) => {
        const next = random(trace.id + kind + layer);
        const values = Array.from(
          { length: trace.card.kinds[kind].heads },
          () => -Math.abs(gauss(next)) * (kind === "cross" ? 1.5 : 0.4) + 0.1,
        );
        rows.push(["row", { kind, layer, values }]);
        return values;
      });
    }
    const final = { baseline_logprob: trace.manifest.decode.score, kinds };
    return stream ? sse(out, [...rows, ["final", final]], 120) : json(out, final);
  }
  if (what === "traces") {
    const trace = traces.get(name);
    if (!trace) return problem(out, 404, "unknown_trace", "this trace is not kept any more");
    if (!part) return json(out, trace.manifest);
    if (part === "beam") return json(out, beamTree(trace));
    if (part === "influence") {
      await sleep(150);
      return json(out, {
        unit: url.searchParams.get("unit") ?? "words",
        replace: "unk",
        ...influence(trace, url.searchParams.get("unit") ?? "words"),
      });
    }
    if (part === "tensors") {
      const entries = {};
      for (const need of url.searchParams.getAll("need")) {
        entries[need] = tensor(trace, need);
        if (!entries[need]) return problem(out, 422, "bad_parameter", `no tensor ${need}`);
      }
      out.writeHead(200, { "Content-Type": "application/octet-stream" });
      return out.end(safetensors(entries));
    }
  }
  if (what === "compare") {
    const results = body.models
      .map((model) => makeTrace({ model, text: body.text }))
      .map((trace, i) => ({
        model: trace.card.name,
        arch: trace.card.arch,
        id: trace.id,
        text: trace.target.text,
        score: trace.manifest.decode.score,
        score_per_token: trace.manifest.decode.score_per_token,
        chrf: [41.2, 88.6, 100][i],
        tokens: outTokens(trace),
        influence: influence(trace, "words"),
      }));
    const words = side(body.text, "ko").words.map((word) => word.text);
    const grow = (body.cuts ?? [1, 2, 3, 4])
      .filter((n) => n <= words.length)
      .map((n) => ({
        words: n,
        source: words.slice(0, n).join(" "),
        reference: body.reference ?? rewrite(words.slice(0, n).join(" ")),
        scores: Object.fromEntries(
          results.map((r, i) => [
            r.model,
            { chrf: [18 + 70 * Math.exp(-n / 5), 97 - 2 * n, 100][i], text: rewrite(words.slice(0, n).join(" ")) },
          ]),
        ),
      }));
    return json(out, { source: { words }, pseudo_reference: body.reference ? null : results.at(-1).model, results, grow });
  }
  if (what === "runs") {
    if (!name) return json(out, { runs: empty ? [] : RUNS });
    const run = RUNS.find((r) => r.name === name);
    if (!run) return problem(out, 404, "not_found", "no such run");
    if (!part) return json(out, runDetail(run));
    if (part === "series")
      return json(out, { series: Object.fromEntries(url.searchParams.getAll("name").map((n) => [n, series(run, n)])) });
    if (part === "probes") {
      const step = Number(rest);
      const trace = makeTrace({ model: run.arch === "rnn" ? "dates-luong" : run.name, text: MODELS[0].examples[0] });
      const { layers: L, heads: H } = trace.card.kinds.cross;
      const sharp = Math.min(1, step / 2000);
      const bytes = [];
      for (let l = 0; l < L; l++)
        for (let h = 0; h < H; h++)
          for (const row of head(trace, "cross", l, h).weights)
            for (const w of row) bytes.push(Math.round(255 * Math.sqrt(sharp * w + (1 - sharp) / row.length)));
      return json(out, {
        step,
        sentences: [
          {
            source: trace.source.tokens.map((t) => t.text),
            target: trace.target.tokens.map((t) => t.text),
            text: trace.target.text,
            shape: [L, H, trace.target.tokens.length, trace.source.tokens.length],
            atlas: Buffer.from(bytes).toString("base64"),
          },
        ],
      });
    }
    if (part === "events") {
      out.writeHead(200, { "Content-Type": "text/event-stream" });
      for (let i = 1; i <= 200 && !out.destroyed && run.status === "running"; i++) {
        out.write(
          `id: ${i}\ndata: ${JSON.stringify({ type: "train", step: run.step + 10 * i, epoch: 3, loss: 0.3 + 0.05 * Math.random(), lr: 4e-4, grad_norm: 0.9, tokens_per_s: 6200, elapsed_s: (run.step + 10 * i) * 0.21 })}\n\n`,
        );
        await sleep(700);
      }
      return out.end();
    }
  }
  if (what === "evals") {
    const docs = empty ? [] : MODELS.map((m, i) => evalDoc(m.name, i));
    if (!name)
      return json(out, {
        evals: docs.map((d, i) => ({ id: `e${i}`, model: d.model, data: d.data.name, n: d.data.n, metrics: d.metrics })),
      });
    return json(out, docs[Number(name.slice(1))]);
  }
  return problem(out, 404, "not_found", "nothing here");
}
