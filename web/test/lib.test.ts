/** Laws and examples of the pure parts: colours, matrices, labels, links, spans, numbers, tables, files. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { arrow } from "../src/lib/bidi";
import { css, entryOf, inkOn, luminance, sequential, signedTable } from "../src/lib/colour";
import { toCsv } from "../src/lib/csv";
import { fixed, number, percent, short, signed, weight } from "../src/lib/format";
import { around, labelOf, layoutOf, panned, reveal, zoomed } from "../src/lib/heatmap";
import { graphemes, isCjk, isRtl, isUpright, shorten, thin, widthOf } from "../src/lib/labels";
import { languageName } from "../src/lib/languages";
import { range } from "../src/lib/range";
import { decodeOps, encodeOps, formatAddress, parseAddress } from "../src/lib/link";
import {
  combine,
  entropy,
  extent,
  fromAtlas,
  fromRows,
  largest,
  matrix,
  maxPool,
  mergeWords,
  pick,
  product,
  rank,
  rollout,
  row,
  transpose,
  type Matrix,
} from "../src/lib/matrix";
import { resolveNeed } from "../src/lib/needs";
import { readSafetensors } from "../src/lib/safetensors";
import { linesOf, mayHaveSeveral } from "../src/lib/sentences";
import { cut, offsets, toUtf16 } from "../src/lib/spans";
import { eventReader } from "../src/lib/sse";
import { stripsSvg } from "../src/lib/strips";
import { escapeXml, element, svgDocument } from "../src/lib/svg";
import { prefixBefore, unitsOf, wordUnits } from "../src/lib/tokens";
import type { TraceSide, TraceToken } from "../src/api-types";

const close = (a: number, b: number, by = 1e-5) => assert.ok(Math.abs(a - b) <= by, `${a} is not ${b}`);
let seed = 7;
const random = () => {
  seed = (seed * 16807) % 2147483647;
  return seed / 2147483647;
};
const randomWeights = (rows: number, cols: number): Matrix => {
  const m = matrix(rows, cols);
  for (let r = 0; r < rows; r++) {
    let sum = 0;
    for (let c = 0; c < cols; c++) sum += m.data[r * cols + c] = random();
    for (let c = 0; c < cols; c++) m.data[r * cols + c] /= sum;
  }
  return m;
};
const light = (table: Uint8ClampedArray, i: number) => luminance([table[4 * i], table[4 * i + 1], table[4 * i + 2]]);

test("sequential tables are monotone in lightness and span both ends", () => {
  for (const dark of [false, true]) {
    const table = sequential(dark);
    for (let i = 1; i < 256; i++)
      assert.ok(dark ? light(table, i) >= light(table, i - 1) : light(table, i) <= light(table, i - 1), `entry ${i}`);
    const ends = [light(table, 0), light(table, 255)].sort((a, b) => a - b);
    assert.ok((ends[1] + 0.05) / (ends[0] + 0.05) > 8);
  }
});

test("the signed table is neutral in the middle, blue below and orange above", () => {
  for (const dark of [false, true]) {
    const table = signedTable(dark);
    const at = (i: number) => [table[4 * i], table[4 * i + 1], table[4 * i + 2]];
    const [r, g, b] = at(127);
    assert.ok(Math.max(r, g, b) - Math.min(r, g, b) < 12);
    assert.ok(at(10)[2] > at(10)[0] && at(245)[0] > at(245)[2]);
    for (let i = 1; i < 128; i++)
      assert.ok(dark ? light(table, i) <= light(table, i - 1) + 1e-3 : light(table, i) >= light(table, i - 1) - 1e-3, `entry ${i}`);
  }
});

test("text on any entry has a contrast of at least 4.5", () => {
  for (const table of [sequential(false), sequential(true), signedTable(false), signedTable(true)])
    for (let i = 0; i < 256; i++) {
      const l = light(table, i);
      const contrast = inkOn(table, i) === "#ffffff" ? 1.05 / (l + 0.05) : (l + 0.05) / 0.05;
      assert.ok(contrast >= 4.5, `${css(table, i)} has ${contrast}`);
    }
});

test("entries follow the scale, and the square root is that of the atlas", () => {
  assert.equal(entryOf(0, {}), 0);
  assert.equal(entryOf(1, {}), 255);
  assert.equal(entryOf(0.25, { sqrt: true }), Math.round(255 * 0.5));
  assert.equal(entryOf(-3, { signed: true, max: 3 }), 0);
  assert.equal(entryOf(3, { signed: true, max: 3 }), 255);
  assert.equal(entryOf(2, { max: 1 }), 255);
  assert.equal(entryOf(NaN, {}), 0);
});

test("merging into words keeps the sum of every row at 1", () => {
  const m = randomWeights(5, 6);
  const merged = mergeWords(m, [[0, 1], [2], [3, 4]], [[0], [1, 2, 3], [4, 5]]);
  for (let r = 0; r < 3; r++)
    close(
      row(merged, r).reduce((a, b) => a + b, 0),
      1,
    );
  close(merged.data[0 * 3 + 1], (m.data[1] + m.data[2] + m.data[3] + m.data[7] + m.data[8] + m.data[9]) / 2);
});

test("max-pooling keeps the largest value by magnitude and never a smaller one", () => {
  const m = randomWeights(37, 53);
  m.data[17 * 53 + 31] = -9;
  const small = maxPool(m, 8, 9);
  assert.deepEqual([small.rows, small.cols], [8, 9]);
  assert.ok(small.data.includes(-9));
  for (let r = 0; r < m.rows; r++)
    for (let c = 0; c < m.cols; c++)
      assert.ok(Math.abs(small.data[Math.floor((r * 8) / 37) * 9 + Math.floor((c * 9) / 53)]) >= Math.abs(m.data[r * 53 + c]));
  assert.equal(maxPool(m, 100, 100), m);
});

test("rollout keeps rows at 1, and one layer is half the identity", () => {
  const layers = [randomWeights(4, 4), randomWeights(4, 4), randomWeights(4, 4)];
  const all: Matrix[] = [];
  for (const layer of layers) all.push(rollout(layer, all[all.length - 1] ?? null));
  for (const m of all)
    for (let r = 0; r < 4; r++)
      close(
        row(m, r).reduce((a, b) => a + b, 0),
        1,
      );
  close(all[0].data[0], 0.5 + layers[0].data[0] / 2);
});

test("entropy is 0 for one key and log2 n for equal weights", () => {
  assert.equal(entropy([0, 1, 0]), 0);
  close(entropy([0.25, 0.25, 0.25, 0.25]), 2);
});

test("atlas, mean, maximum, product, transpose, ranks", () => {
  const atlas = { shape: [1, 2, 1, 2], data: Uint8Array.from([255, 0, 128, 255]) };
  close(fromAtlas(atlas, 0, 1).data[0], (128 / 255) ** 2);
  const [a, b] = [
    fromRows([
      [1, 0],
      [0, 1],
    ]),
    fromRows([
      [0, 1],
      [1, 0],
    ]),
  ];
  assert.deepEqual([...combine([a, b], "mean").data], [0.5, 0.5, 0.5, 0.5]);
  assert.deepEqual([...combine([a, b], "max").data], [1, 1, 1, 1]);
  assert.deepEqual([...product(fromRows([[1, 2]]), fromRows([[3], [4]])).data], [11]);
  assert.deepEqual([...transpose(fromRows([[1, 2, 3]])).data], [1, 2, 3]);
  assert.deepEqual(
    [
      ...pick(
        fromRows([
          [1, 2],
          [3, 4],
        ]),
        [1],
        [1, 0],
      ).data,
    ],
    [4, 3],
  );
  assert.deepEqual(largest([1, 9, 3, 9], 2), [1, 3]);
  assert.equal(rank([1, 9, 3], 2), 2);
  assert.deepEqual(extent([]), [0, 0]);
  assert.deepEqual(extent([3, -1]), [-1, 3]);
});

function pack(header: object, ...parts: Uint8Array[]): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + parts.reduce((n, part) => n + part.length, 0));
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  let at = 8 + text.length;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes.buffer;
}

test("safetensors: types, odd offsets, metadata, and errors that name the tensor", () => {
  const floats = new Uint8Array(Float32Array.from([1.5, -2]).buffer);
  const file = pack(
    {
      __metadata__: { a: "b" },
      u: { dtype: "U8", shape: [1], data_offsets: [0, 1] },
      "cross.weights:0.1": { dtype: "F32", shape: [1, 2], data_offsets: [1, 9] },
      h: { dtype: "F16", shape: [2], data_offsets: [9, 13] },
      b: { dtype: "BF16", shape: [1], data_offsets: [13, 15] },
    },
    Uint8Array.of(7),
    floats,
    Uint8Array.of(0, 0x3c, 0, 0xc0),
    Uint8Array.of(0x80, 0x3f),
  );
  const all = readSafetensors(file);
  assert.deepEqual([...all.keys()], ["u", "cross.weights:0.1", "h", "b"]);
  assert.deepEqual([...all.get("cross.weights:0.1")!.data], [1.5, -2]);
  assert.deepEqual([...all.get("h")!.data], [1, -2]);
  assert.deepEqual([...all.get("b")!.data], [1]);
  assert.throws(() => readSafetensors(pack({ x: { dtype: "F32", shape: [3], data_offsets: [0, 8] } }, floats)), /tensor x has 2 values/);
  assert.throws(() => readSafetensors(new Uint8Array([255, 0, 0, 0, 0, 0, 0, 0]).buffer), /header of 255 bytes/);
});

test("spans of code points become UTF-16 across surrogate pairs and joined marks", () => {
  const text = "가👍🏽나é";
  const table = offsets(text);
  assert.equal(table.length, [...text].length + 1);
  assert.deepEqual(toUtf16(table, [1, 3]), [1, 5]);
  assert.equal(text.slice(...toUtf16(table, [3, 4])), "나");
  assert.deepEqual(toUtf16(table, [2, 99]), [3, text.length]);
  const pieces = cut(text, [[0, 1], [1, 3], null, [3, 6]]);
  assert.equal(pieces.map((piece) => piece.text).join(""), text);
  assert.deepEqual(
    pieces.map((piece) => piece.tokens),
    [[0], [1], [3]],
  );
});

test("an address survives the round trip, in one order, without empty parts", () => {
  const address = { screen: "attention" as const, rest: "", params: { s: "나는 <b>&amp; 100%? #1", m: "a b", h: "2", l: "3", zz: "é" } };
  const text = formatAddress(address);
  const [path, search] = text.split(/\?(.*)/s);
  assert.deepEqual(parseAddress(path, search), address);
  assert.ok(text.indexOf("m=") < text.indexOf("s=") && text.indexOf("l=") < text.indexOf("h="));
  assert.deepEqual(parseAddress("/", ""), { screen: "translate", rest: "", params: {} });
  assert.deepEqual(parseAddress("/learn/3", ""), { screen: "learn", rest: "3", params: {} });
  assert.deepEqual(parseAddress("/t/abc%E0%A4%A", "").screen, "translate");
  assert.equal(formatAddress({ screen: "beam", rest: "", params: { b: "" } }), "/beam");
});

test("interventions survive the round trip as base64url; rubbish is refused", () => {
  const ops = [
    { op: "mask_head", kind: "cross", layer: 2, head: "*" },
    { op: "ban", text: ["영화👍"] },
  ];
  const text = encodeOps(ops);
  assert.match(text, /^[\w-]+$/);
  assert.deepEqual(decodeOps(text), ops);
  assert.deepEqual(decodeOps(""), []);
  for (const bad of ["%%%", "e30", encodeOps([{ op: "x" }]).slice(3), btoa("[1]")]) assert.equal(decodeOps(bad), null);
});

test("labels: graphemes stay whole, the middle is cut, scripts are told apart", () => {
  assert.deepEqual(graphemes("e\u0301👨‍👩‍👧🇰🇷"), ["e\u0301", "👨‍👩‍👧", "🇰🇷"]);
  assert.equal(shorten("abcdefghij", 5), "ab…ij");
  assert.equal(shorten("abc", 3), "abc");
  assert.equal(shorten("abc", 1), "…");
  assert.ok(isCjk("영화") && isCjk("ー") && isCjk("漢") && isCjk("1998년") && !isCjk("movie"));
  assert.ok(isUpright("영화") && isUpright("東京…駅") && !isUpright("1945년") && !isUpright("movie"));
  assert.ok(isRtl("مرحبا") && isRtl("שלום") && !isRtl("a1"));
  assert.ok(widthOf("영화") > widthOf("il"));
});

test("languages are named in the language of the page, and codes that are none stay plain", () => {
  assert.equal(languageName("ko", "en", "many"), "Korean");
  assert.equal(languageName("en", "ko", "many"), "영어");
  assert.equal(languageName("mul", "en", "many languages"), "many languages");
  assert.equal(languageName("iso8601", "ko", "many"), "ISO 8601");
  for (const nothing of ["", "und"]) assert.equal(languageName(nothing, "en", "many"), "");
  assert.equal(languageName("no language", "en", "many"), "no language");
});

test("a range counts from where it is told to", () => {
  assert.deepEqual(range(3), [0, 1, 2]);
  assert.deepEqual(range(2, 5), [5, 6]);
  assert.deepEqual(range(0), []);
});

test("labels are thinned evenly and the hovered one is always drawn", () => {
  assert.deepEqual(thin(3, 20, 14), [true, true, true]);
  const shown = thin(100, 2, 14, [51]);
  assert.ok(shown[51]);
  const at = shown.flatMap((on, i) => (on ? [i] : []));
  for (let i = 1; i < at.length; i++) assert.ok((at[i] - at[i - 1]) * 2 >= 14, `${at[i - 1]} and ${at[i]} collide`);
  assert.deepEqual(thin(2, 0, 14, [9, -1]), [true, false]);
});

test("layout: cells fit the room, columns can run right to left, Hangul stands upright", () => {
  const labels = (n: number, text: string) => Array.from({ length: n }, () => labelOf(text));
  for (const n of [1, 5, 60, 400]) {
    const layout = layoutOf({ rows: labels(n, "word"), cols: labels(n, "source"), width: 600, maxCell: 44, maxHeight: 600 });
    assert.ok(layout.width <= 601 || n === 1, `${n}: ${layout.width}`);
    assert.ok(layout.cellWidth * n <= 600 && layout.cellHeight * n <= 601);
  }
  const upright = layoutOf({ rows: labels(2, "a"), cols: labels(20, "영화를보다"), width: 400, maxCell: 44, maxHeight: 400 });
  assert.equal(upright.colLabels[0].mode, "upright");
  assert.deepEqual(upright.colLabels[0].parts, ["영", "화", "를", "보", "다"]);
  const rtl = layoutOf({ rows: labels(1, "a"), cols: [labelOf("x"), labelOf("y")], width: 400, maxCell: 44, maxHeight: 400, rtl: true });
  assert.ok(rtl.colLabels[0].x > rtl.colLabels[1].x);
});

test("the window of a matrix stays inside and holds the cell", () => {
  const total = { rows: 300, cols: 300 };
  const whole = { r0: 0, c0: 0, ...total };
  let view = whole;
  for (let i = 0; i < 30; i++) view = zoomed(view, total, { row: 299, col: 0 }, 0.8);
  assert.ok(view.rows >= 4 && view.r0 + view.rows <= 300 && view.c0 === 0);
  assert.deepEqual(zoomed(view, total, { row: 10, col: 10 }, 1e6), whole);
  const moved = reveal({ r0: 0, c0: 0, rows: 10, cols: 10 }, total, { row: 42, col: 5 });
  assert.equal(moved.r0, 33);
  assert.equal(panned(moved, total, 1000, -5).r0, 290);
  assert.deepEqual(around(150, 300, 60), [120, 180]);
  assert.deepEqual(around(2, 20, 60), [0, 20]);
});

test("arrows follow the order of the eye", () => {
  assert.equal(arrow(1, 1, 3, "rtl"), 0);
  assert.equal(arrow(2, 1, 3, "ltr"), 2);
});

test("numbers", () => {
  assert.equal(number(-0.40142), "−0.4014");
  assert.equal(number(0), "0");
  assert.equal(number(12), "12");
  assert.equal(number(1e-7), "1.00e−7");
  assert.equal(number(NaN), "NaN");
  assert.equal(fixed(-0.001, 2), "0.00");
  assert.equal(fixed(-1.25, 1), "−1.3");
  assert.equal(signed(0.5, 1), "+0.5");
  assert.equal(weight(0.714), ".71");
  assert.equal(weight(0.001), "");
  assert.equal(weight(1), "1");
  assert.equal(percent(0.004), "<1 %");
  assert.equal(short(8_213_000), "8.21 M");
});

test("CSV quotes what must be quoted and disarms formulas", () => {
  const table = {
    head: ["a", 'b"c'],
    rows: [
      ["x,y", 1.5],
      ["=1+1", null],
      ["-0.5", -2],
    ],
  };
  assert.equal(toCsv(table), 'a,"b""c"\r\n"x,y",1.5\r\n\'=1+1,\r\n-0.5,-2\r\n');
  assert.equal(toCsv({ head: ["a"], rows: [["x,y"]] }, "\t"), "a\r\nx,y\r\n");
});

test("SVG text is escaped and forbidden characters are dropped", () => {
  assert.equal(escapeXml('<b>&"\u0000\ud800'), "&lt;b&gt;&amp;&quot;");
  assert.equal(element("a", { x: 1, y: undefined, t: '"' }), '<a x="1" t="&quot;"/>');
  assert.match(svgDocument(10, 20, "#fff", "</title><script>", ""), /<title>&lt;\/title&gt;&lt;script&gt;<\/title>/);
});

test("server-sent events arrive whole however the stream is cut", () => {
  const text = "event: start\ndata: {}\n\n: ping\n\nid: 7\r\nevent: partial\r\ndata: a\r\ndata: b\r\n\r\ndata: last\n\n";
  for (const size of [1, 2, 5, 1000]) {
    const feed = eventReader();
    const events = [];
    for (let i = 0; i < text.length; i += size) events.push(...feed(text.slice(i, i + size)));
    assert.deepEqual(
      events,
      [
        { event: "start", data: "{}", id: "" },
        { event: "partial", data: "a\nb", id: "7" },
        { event: "message", data: "last", id: "7" },
      ],
      `${size}`,
    );
  }
});

test("sentences: lines are told apart here, and the server is asked where a line may have several", () => {
  assert.deepEqual(linesOf(" 나는 갔다. 너도!\n\n셋 "), ["나는 갔다. 너도!", "셋"]);
  assert.deepEqual(linesOf("  \n "), [""]);
  assert.equal(mayHaveSeveral("One came. Two", "split"), true);
  assert.equal(mayHaveSeveral("我来了。你呢？", "split"), true);
  assert.equal(mayHaveSeveral("One came.\nTwo went.", "split"), false);
  assert.equal(mayHaveSeveral("den 5 mars kl. 14:30", "as-is", 96), false);
  assert.equal(mayHaveSeveral("den 5 mars kl. 14:30", "as-is", 9), true);
});

const token = (i: number, text: string, extra: Partial<TraceToken> = {}): TraceToken => ({
  i,
  id: i,
  text,
  piece: text,
  type: "normal",
  span: [i, i + 1],
  word: 0,
  ...extra,
});

test("byte tokens of a character are one box until opened; words keep specials apart", () => {
  const tokens = [
    token(0, "a"),
    token(1, "각", { type: "byte", byte: 234, group: 0 }),
    token(2, "각", { type: "byte", byte: 176, group: 0 }),
    token(3, "</s>", { type: "special", span: null, word: 3 }),
  ];
  const units = unitsOf(tokens);
  assert.deepEqual(
    units.map((unit) => [unit.text, unit.tokens, unit.bytes]),
    [
      ["a", [0], 0],
      ["각", [1, 2], 2],
      ["</s>", [3], 0],
    ],
  );
  assert.deepEqual(
    unitsOf(tokens, new Set([0])).map((unit) => unit.text),
    ["a", "<EA>", "<B0>", "</s>"],
  );
  const side: TraceSide = { text: "a각", lang: "ko", dir: "ltr", tokens, words: [{ i: 0, text: "a각", tokens: [0, 1, 2] }] };
  assert.deepEqual(
    wordUnits(side).map((unit) => [unit.text, unit.special]),
    [
      ["a각", false],
      ["</s>", true],
    ],
  );
  assert.deepEqual(
    wordUnits({ ...side, words: [...side.words, { i: 1, text: "</s>", tokens: [3], type: "special" }] }),
    wordUnits(side).map((unit) => ({ ...unit, space: true })),
  );
});

test("the forced prefix ends with the candidate in place of the token", () => {
  const side: TraceSide = {
    text: "I saw it",
    lang: "en",
    dir: "ltr",
    tokens: [token(0, "I", { span: [0, 1] }), token(1, "saw", { span: [2, 5] }), token(2, "</s>", { span: null })],
    words: [],
  };
  assert.equal(prefixBefore(side, 1, "watched"), "I watched");
  assert.equal(prefixBefore({ ...side, tokens: [side.tokens[0], token(1, "saw", { span: [1, 5] })] }, 1, "watched"), "I watched");
  assert.equal(prefixBefore(side, 2, "."), "I saw it.");
});

test("a whole tensor answers for its slices, and weights for their atlas", () => {
  const all = new Map([
    ["cross.weights", { shape: [1, 2, 1, 2], data: Float32Array.of(1, 0, 0.25, 0.75), dtype: "F32" }],
    ["cross.out", { shape: [2, 1, 1], data: Float32Array.of(5, 6), dtype: "F32" }],
  ]);
  assert.deepEqual([...resolveNeed(all, "cross.weights:0.1")!.data], [0.25, 0.75]);
  assert.deepEqual(resolveNeed(all, "cross.weights:0.1")!.shape, [1, 2]);
  assert.deepEqual([...resolveNeed(all, "cross.atlas")!.data], [255, 0, 128, 221]);
  assert.deepEqual([...resolveNeed(all, "cross.out:1")!.data], [6]);
  for (const need of ["cross.weights:1.0", "cross.weights:0.2", "dec_self.atlas", "cross.q:0.0"])
    assert.equal(resolveNeed(all, need), undefined);
});

test("the drawing of two strips escapes tokens, draws strong links only and turns right-to-left sides", () => {
  const units = (...texts: string[]) =>
    texts.map((text, i) => ({ text, space: false, special: false, unknown: false, tokens: [i], bytes: 0 }));
  const input = {
    title: "x",
    source: { units: units("<b>", "나"), rtl: false },
    target: { units: units("a", "b"), rtl: true },
    matrix: fromRows([
      [1, 0],
      [0.05, 0.9],
    ]),
    max: 1,
    confidence: [1, 0.5],
    dark: false,
  };
  const svg = stripsSvg(input);
  assert.match(svg, /&lt;b&gt;/);
  assert.equal(svg.match(/<path /g)?.length, 2);
  const x = (text: string) => Number(new RegExp(`<text x="([\\d.]+)"[^>]*>${text}<`).exec(svg)![1]);
  assert.ok(x("a") > x("b"));
  assert.equal(stripsSvg({ ...input, matrix: null }).includes("<path"), false);
});
