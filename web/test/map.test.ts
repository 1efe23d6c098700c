/** The pure parts of the Map: what it draws of a model, where, when, from where it is seen, and one row in motion. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ForwardTensor, Manifest } from "../src/api-types";
import type { Pass } from "../src/lib/forward";
import { between, bounded, frame, pointOf, WHOLE, zoomed } from "../src/lib/map/camera";
import { curve, labelled, laneAt, laneOf, layoutOf, mixed, roomFor, upTo } from "../src/lib/map/layout";
import { barsAt, fallen } from "../src/lib/map/motion";
import { affordable, boxesOf, needOfStrip, planOf, stripsOf } from "../src/lib/map/plan";
import { moving } from "../src/lib/map/moving";
import { linksOf, type View } from "../src/lib/map/shapes";
import { standing } from "../src/lib/map/standing";
import { beginning, beside, done, lastPhase, later, momentOf, paceOf, restOf, same, storyOf } from "../src/lib/map/timing";
import { matrix } from "../src/lib/matrix";
import { range } from "../src/lib/range";
import { searchStep, stepOf } from "../src/lib/step";

const KIND = (layers: number) => ({ layers, heads: 4, d_head: 8 });
function model(arch: "rnn" | "luong" | "transformer", layers = 2, copy = false): Manifest {
  const deep = arch === "transformer";
  const kinds = deep
    ? { enc_self: KIND(layers), dec_self: KIND(layers), cross: KIND(layers), ...(copy ? { copy: KIND(1) } : {}) }
    : arch === "luong"
      ? { cross: KIND(1) }
      : {};
  return {
    model: { arch, kinds, layers: { encoder: layers, decoder: layers }, d_model: 32 },
    rnn: deep ? null : { bidirectional: true, bridge: [layers, 1, 32], layers },
  } as unknown as Manifest;
}
const tensor = (stage: string, operation: string, axes: string, how: ForwardTensor["how"] = "sum"): ForwardTensor => ({
  stage,
  operation,
  axes,
  shape: [1, 5, 32],
  dtype: "float32",
  how,
  inputs: [],
  number: null,
  detail: false,
});
const parts = (arch: "rnn" | "luong" | "transformer", layers?: number, copy?: boolean) =>
  boxesOf(planOf(model(arch, layers, copy), null)).map((box) => `${box.side[0]}${box.layer || ""} ${box.part}`);

test("every architecture has its own way from the pieces to the token", () => {
  const ends = ["d logits", "d softmax"];
  assert.deepEqual(parts("transformer", 1), [
    "e embedding",
    "e1 enc_self",
    "e1 ffn",
    "d embedding",
    "d1 dec_self",
    "d1 cross",
    "d1 ffn",
    ...ends,
  ]);
  assert.deepEqual(parts("transformer", 1, true).slice(-3), ["d copy", ...ends]);
  assert.deepEqual(parts("rnn"), ["e embedding", "e2 recurrence", "e bridge", "d embedding", "d2 recurrence", ...ends]);
  assert.deepEqual(parts("luong", 1).slice(-7), ["d1 recurrence", "d score", "d weights", "d context", "d attentional", ...ends]);
  assert.equal(planOf(model("rnn"), null).memory, null);
  assert.equal(planOf(model("luong"), null).memory, "encoder.2.recurrence.out");
});

test("a forward pass names the state behind every part, whichever norm comes last", () => {
  const tensors = [
    tensor("encoder", "embedding · √D", "[B,S,D]", "lookup"),
    tensor("encoder", "positions", "[B,S,D]", "given"),
    tensor("encoder", "+ positions", "[B,S,D]"),
    tensor("encoder layer 1", "before: norm", "[B,S,D]", "norm"),
    tensor("encoder layer 1", "self-attention: Q", "[B,H,S,d_k]", "product"),
    tensor("encoder layer 1", "self-attention: add, x + f(x)", "[B,S,D]"),
    tensor("encoder layer 1", "self-attention: norm", "[B,S,D]", "norm"),
    tensor("encoder layer 1", "FFN: h = max(0, x W_1 + b_1)", "[B,S,F]", "relu"),
    tensor("encoder layer 1", "FFN: add, x + f(x)", "[B,S,D]"),
    tensor("decoder layer 1", "masked self-attention: add, x + f(x)", "[B,T,D]"),
    tensor("output", "logits", "[B,T,V]", "product"),
  ];
  const plan = planOf(model("transformer", 1), { tensors } as unknown as Pass);
  const places = Object.fromEntries(stripsOf(plan).map(({ id, place }) => [id, place]));
  assert.equal(places["encoder.0.embedding.out"], 2);
  assert.equal(places["encoder.1.enc_self.out"], 6);
  assert.equal(places["encoder.1.ffn.out"], 8);
  assert.equal(places["decoder.1.dec_self.out"], 9);
  assert.equal(places["decoder.1.cross.out"], -1);
  const inside = Object.fromEntries(boxesOf(plan).map((box) => [box.id, box.inside]));
  assert.deepEqual([inside["encoder.1.ffn"].tab, inside["encoder.1.ffn"].n], ["layers", 7]);
  assert.deepEqual([inside["decoder.1.cross"].k, inside["decoder.1.cross"].l], ["cross", 1]);
  assert.equal(inside["decoder.0.logits"].n, 10);
});

test("without a forward pass strips are what the trace has, and the others stay empty", () => {
  const needs = stripsOf(planOf(model("transformer", 1), null)).map(needOfStrip);
  assert.deepEqual(needs, [null, "enc_self.out:0", null, null, "dec_self.out:0", "cross.out:0", null]);
  const luong = stripsOf(planOf(model("luong", 1), null)).map(needOfStrip);
  assert.deepEqual(luong, [null, "rnn.encoder", "rnn.bridge", null, "rnn.decoder", "cross.context:0.0", "cross.out:0"]);
});

test("what is too large together is left out, inner parts first", () => {
  const pass = { tensors: [tensor("encoder layer 1", "FFN: add", "[B,S,D]")] } as unknown as Pass;
  const plan = planOf(model("transformer", 1), pass);
  const all = affordable(plan, () => 1, 99).map(({ id }) => id);
  assert.deepEqual(
    affordable(plan, () => 1, 1).map(({ id }) => id),
    ["encoder.1.ffn.out"],
  );
  assert.ok(all.length > 1);
  assert.deepEqual(
    affordable(plan, () => 100, 99),
    [],
  );
});

const sizes = [
  { width: 1200, height: 560 },
  { width: 340, height: 620 },
];
test("everything stands inside the picture, in order, at any size and depth", () => {
  for (const size of sizes)
    for (const arch of ["rnn", "luong", "transformer"] as const)
      for (const layers of [1, 2, 6, 12])
        for (const tokens of [1, 14, 128]) {
          const plan = planOf(model(arch, layers), null);
          const layout = layoutOf(plan, { encoder: tokens, decoder: tokens }, size);
          for (const side of ["encoder", "decoder"] as const) {
            const own = plan.items.filter((item) => item.side === side).map((item) => layout.places.get(item.id)!);
            own.forEach((at, n) => n > 0 && assert.ok(at.x >= own[n - 1].x + own[n - 1].w - 1e-6));
            const lanes = layout.lanes[side];
            assert.ok(lanes.top >= 0 && lanes.top + lanes.count * lanes.high <= size.height + 1e-6);
            assert.ok(own.every((at) => at.x >= 0 && at.x + at.w <= size.width + 1e-6));
            for (const n of [0, tokens - 1]) assert.equal(laneOf(lanes, laneAt(lanes, n)), n);
          }
          assert.ok(layout.output.x + layout.output.w <= size.width + 1e-6, `${arch} ${layers} ${JSON.stringify(layout.output)}`);
          assert.equal(layout.layers.length, arch === "transformer" ? 2 * layers : 0);
        }
});

test("deep models and narrow windows are set in two rows", () => {
  const of = (layers: number, n: number) =>
    layoutOf(planOf(model("transformer", layers), null), { encoder: 9, decoder: 9 }, sizes[n]).folded;
  assert.deepEqual([of(2, 0), of(6, 0), of(2, 1)], [false, true, true]);
});

test("a layer in focus takes most of its row, and everything flies to its new place", () => {
  for (const layers of [2, 6]) {
    const plan = planOf(model("transformer", layers), null);
    const of = (focus: { side: "encoder" | "decoder"; layer: number } | null) =>
      layoutOf(plan, { encoder: 9, decoder: 9 }, sizes[0], 90, focus);
    const [whole, near] = [of(null), of({ side: "decoder", layer: 2 })];
    const width = (layout: typeof whole) => layout.layers.find(({ side, layer }) => side === "decoder" && layer === 2)!.rect.w;
    assert.ok(width(near) > 2 * width(whole) && width(near) > 0.4 * 1200, `${width(near)}`);
    assert.equal(near.folded, whole.folded);
    assert.ok([...near.places.values()].every((at) => at.w >= 0 && at.x + at.w <= 1200 + 1e-6));
    const [start, middle] = [mixed(whole, near, 0), mixed(whole, near, 0.5)];
    for (const [id, at] of near.places) {
      assert.deepEqual(start.places.get(id), whole.places.get(id));
      assert.ok(Math.abs(middle.places.get(id)!.x - (at.x + whole.places.get(id)!.x) / 2) < 1e-6);
    }
    assert.equal(mixed(whole, near, 1), near);
    assert.equal(mixed(of(null), layoutOf(plan, { encoder: 9, decoder: 9 }, sizes[1]), 0.5).width, 340, "another size is there at once");
  }
  assert.ok(roomFor(["요일", "a"]) > roomFor(["ab", "a"]) && roomFor([]) === 18);
});

test("labels thin out where lanes are narrow, and the step keeps its own", () => {
  const lanes = { count: 100, top: 0, high: 3, label: 0 };
  const found = labelled(lanes, 1, [50]);
  assert.ok(found.includes(50) && found.length < 30);
  found.slice(1).forEach((n, i) => assert.ok(n - found[i] >= 4));
  assert.equal(labelled(lanes, 8, []).length, 100);
});

test("a curve up to a share ends on the curve, and up to all of it is the curve", () => {
  const whole = curve(0, 0, 100, 40);
  assert.deepEqual(upTo(whole, 1), whole);
  const half = upTo(whole, 0.5);
  assert.deepEqual([half[6], half[7]], [50, 20]);
  assert.deepEqual(upTo(whole, 0).slice(6), [0, 0]);
});

test("the camera stays inside, keeps the point under the pointer, and flies evenly", () => {
  const window = { width: 800, height: 400 };
  assert.deepEqual(bounded({ x: -50, y: 900, scale: 0.2 }, window), WHOLE);
  const near = frame({ x: 200, y: 100, w: 100, h: 100 }, window);
  assert.ok(near.scale > 3 && near.x <= 200 && near.x + window.width / near.scale >= 300);
  const at = { x: 300, y: 200 };
  const [before, after] = [pointOf(WHOLE, at.x, at.y), pointOf(zoomed(WHOLE, 2, at, window), at.x, at.y)];
  assert.ok(Math.abs(before.x - after.x) < 1e-9 && Math.abs(before.y - after.y) < 1e-9);
  assert.deepEqual(between(WHOLE, near, 1, window), near);
  const start = between(WHOLE, near, 0, window);
  assert.ok(Math.abs(start.x) < 1e-9 && Math.abs(start.scale - 1) < 1e-9);
  const scales = range(11).map((n) => between(WHOLE, near, n / 10, window).scale);
  scales.slice(1).forEach((scale, n) => assert.ok(scale >= scales[n]));
  for (const n of range(11)) {
    const { x, y, scale } = between(WHOLE, near, n / 10, window);
    assert.ok(x >= -1e-6 && y >= -1e-6 && x + window.width / scale <= 800 + 1e-6);
  }
});

const story = storyOf(planOf(model("transformer", 2), null), 3);
test("a step of the story begins with its token and ends with the next", () => {
  assert.deepEqual(beginning(story), { step: 0, phase: -5 });
  let [moment, count] = [beginning(story), 1];
  for (let next = beside(story, moment, 1); !same(next, moment); next = beside(story, moment, 1)) [moment, count] = [next, count + 1];
  assert.deepEqual(moment, restOf(story, 2));
  assert.equal(count, 5 + 3 * story.writes.length);
  for (let back = beside(story, moment, -1); !same(back, moment); back = beside(story, moment, -1)) [moment, count] = [back, count - 1];
  assert.deepEqual([moment, count], [beginning(story), 1]);
});

test("the clock passes whole phases, and stops at the end", () => {
  const start = { moment: beginning(story), spent: 0, ended: false };
  const pace = paceOf(story, start.moment);
  assert.deepEqual(later(story, start, pace * 2.5).moment, { step: 0, phase: -3 });
  assert.ok(Math.abs(later(story, start, pace * 2.5).spent - pace / 2) < 1e-6);
  const end = later(story, start, 1e7);
  assert.ok(end.ended && same(end.moment, restOf(story, 2)));
  const deep = storyOf(planOf(model("transformer", 12), null), 3);
  const length = deep.writes.length * paceOf(deep, { step: 0, phase: 0 });
  assert.ok(length > 4000 && length < 9000, "a step takes about as long however deep the model is");
});

test("addresses that the story does not have are the end of their step", () => {
  assert.deepEqual(momentOf(story, 1, undefined), restOf(story, 1));
  assert.deepEqual(momentOf(story, 1, "-2"), restOf(story, 1));
  assert.deepEqual(momentOf(story, 0, "-2"), { step: 0, phase: -2 });
  assert.deepEqual(momentOf(story, 99, "1"), { step: 2, phase: 1 });
  for (const bad of ["x", "1.5", "99", ""]) assert.equal(momentOf(story, 1, bad).phase, bad === "" ? 0 : lastPhase(story));
  const [first] = boxesOf(planOf(model("transformer", 2), null));
  assert.equal(done(story, story.reads[0], { step: 0, phase: 0 }, 0.5), 1);
  assert.equal(done(story, story.reads[0], beginning(story), 0.5), 0.5);
  assert.equal(done(story, story.writes[3]!, { step: 0, phase: 0 }, 0.5), 0);
  assert.equal(first.part, "embedding");
});

test("the step of all screens, and that of a search", () => {
  assert.deepEqual(
    [stepOf("3", 9), stepOf(undefined, 9), stepOf("9", 9), stepOf("-1", 9), stepOf("x", 1), stepOf("0", 0)],
    [3, 4, 4, 4, 0, 0],
  );
  assert.deepEqual(
    [
      searchStep(undefined, undefined, 7),
      searchStep("2", "5", 7),
      searchStep(undefined, "3", 7),
      searchStep(undefined, "50", 7),
      searchStep(undefined, "x", 7),
      searchStep("0", "3", 7),
    ],
    [7, 2, 4, 7, 7, 0],
  );
});

function view(arch: "rnn" | "luong" | "transformer", phase: number, tokens = 5, u = 0.6): View {
  const plan = planOf(model(arch, 2), null);
  const names = range(tokens).map((n) => `<b>${n}</b>`);
  const weights = matrix(tokens, tokens, new Float32Array(tokens * tokens).fill(1 / tokens));
  return {
    plan,
    layout: layoutOf(plan, { encoder: tokens, decoder: tokens }, sizes[0]),
    story: storyOf(plan, tokens),
    moment: { step: 2, phase },
    u,
    scale: 1,
    names: { encoder: names, decoder: names },
    answer: names,
    candidates: [
      { text: "a", p: 0.7, logit: 3, chosen: true },
      { text: "b", p: 0.2, logit: null, chosen: false },
    ],
    colours: { surface: "", sunken: "", ink: "", muted: "", line: "", accent: "", soft: "", pulse: "pulse", parts: {} },
    bidirectional: true,
    weights: () => weights,
    scores: new Float32Array(tokens).fill(-1),
    size: () => ({ rows: tokens, cols: 32 }),
    title: (side, layer) => `${side} ${layer}`,
    part: (part) => part,
  };
}

test("every phase of every architecture draws numbers that are finite, and texts as they are", () => {
  for (const arch of ["rnn", "luong", "transformer"] as const) {
    const { story: own } = view(arch, 0);
    for (let phase = -own.reads.length; phase <= lastPhase(own); phase++)
      for (const u of [0, 0.3, 0.999, 1]) {
        const now = view(arch, phase, 5, u);
        const shapes = [...standing(now), ...moving(now)];
        const figures = JSON.stringify(shapes, (_, value) => (typeof value === "number" && !Number.isFinite(value) ? "BAD" : value));
        assert.ok(!figures.includes("BAD"), `${arch} ${phase} ${u}`);
        assert.ok(shapes.length > 10);
      }
    const texts = standing(view(arch, lastPhase(own))).flatMap((shape) => (shape.k === "text" ? [shape.text] : []));
    assert.ok(texts.includes("<b>0</b>") && texts.includes("<b>2</b>"));
    assert.equal(texts.filter((text) => text === "<b>3</b>").length, 1, "a token that is not written yet has no lane of its own");
  }
});

test("what is not computed yet is not drawn", () => {
  const images = (phase: number) => standing(view("transformer", phase)).flatMap((shape) => (shape.k === "image" ? [shape] : []));
  assert.deepEqual(images(-5), []);
  const rows = (phase: number, id: string) => images(phase).find((shape) => shape.id === id)?.rows ?? 0;
  assert.equal(rows(0, "encoder.2.ffn.out"), 5);
  assert.equal(rows(0, "decoder.1.cross.out"), 2, "lanes of earlier steps only");
  assert.equal(rows(lastPhase(story), "decoder.1.cross.out"), 3);
  const many = standing(view("transformer", lastPhase(story), 128)).length;
  assert.ok(many < 6000, `${many} shapes`);
});

test("links are the strongest, none below the least", () => {
  const m = matrix(1, 4, Float32Array.of(0.1, 0.5, 0.05, 0.35));
  assert.deepEqual(
    linksOf(m, 0, 2, 0.2).map(({ from }) => from),
    [1, 3],
  );
  assert.deepEqual(linksOf(m, 0, 9, 0.4).length, 1);
  assert.deepEqual(linksOf(m, 7, 9, 0), []);
});

test("bars of a row grow key by key, are divided, masked, and add up to one", () => {
  const row = { scores: [4, -2, 8], scaled: [2, -1, 4], placed: [2, -1, 4], mask: [1, 1, 0], weights: [0.95, 0.05, 0] };
  assert.deepEqual(
    barsAt(row, 1, 0.5).map(({ shown }) => shown),
    [1, 0.5, 0],
  );
  assert.deepEqual(
    barsAt(row, 1, 1).map(({ share }) => share),
    [0.5, -0.25, 1],
  );
  assert.deepEqual(
    barsAt(row, 2, 0).map(({ share }) => share),
    barsAt(row, 1, 1).map(({ share }) => share),
  );
  assert.deepEqual(
    barsAt(row, 2, 1).map(({ value }) => value),
    row.scaled,
  );
  assert.deepEqual(
    barsAt(row, 7, 1).map(({ value }) => value),
    row.placed,
  );
  assert.deepEqual(
    barsAt(row, 3, 1).map(({ shown }) => shown),
    [1, 1, 0],
  );
  const soft = barsAt(row, 4, 1);
  assert.ok(Math.abs(soft.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9);
  assert.deepEqual(
    barsAt(row, 5, 0.3).map(({ value }) => value),
    row.weights,
  );
});

test("values fall into the context, weight by weight", () => {
  const v = matrix(2, 2, Float32Array.of(1, 2, 3, 4));
  const near = (found: Float32Array, expected: number[]) => expected.forEach((x, n) => assert.ok(Math.abs(found[n] - x) < 1e-6));
  near(fallen([0.25, 0.75], v, 1), [2.5, 3.5]);
  near(fallen([0.25, 0.75], v, 0.5), [0.25, 0.5]);
  near(fallen([0.25, 0.75], v, 0), [0, 0]);
});
