import assert from "node:assert/strict";
import { test } from "node:test";
import type { BeamNode, BeamDocument } from "../src/api-types";
import {
  answersOf,
  childrenOf,
  endsOf,
  isEnd,
  limbsOf,
  momentOf,
  MOST,
  neighbour,
  pathOf,
  rowsOf,
  sharesOf,
  spaced,
  spell,
  stepsOf,
  textUpTo,
  twinsOf,
} from "../src/lib/tree";

/** A search that keeps `beam` nodes a step, with three rejected ways on from each. */
function search(steps: number, beam: number, seed = 1): BeamDocument {
  let state = seed;
  const random = () => {
    state = (state * 16807) % 2147483647;
    return state / 2147483647;
  };
  const nodes: BeamNode[] = [
    { n: 0, parent: null, t: -1, id: 0, text: "<s>", logprob: 0, score: 0, norm: 0, state: "expanded", rank: 0, beam: 0 },
  ];
  let live = [0];
  for (let t = 0; t < steps; t++) {
    const made: BeamNode[] = [];
    for (const parent of live)
      for (let rank = 0; rank < beam + 3; rank++) {
        const logprob = -0.2 - rank * (0.5 + random());
        const score = nodes[parent].score + logprob;
        made.push({
          n: 0,
          parent,
          t,
          id: 10 + rank,
          text: ` w${rank}`,
          logprob,
          score,
          norm: score / (t + 1),
          state: "pruned",
          rank,
          beam: null,
        });
      }
    made.sort((a, b) => b.score - a.score);
    live = [];
    made.forEach((node, i) => {
      if (i >= beam * 4) return;
      const n = nodes.length;
      nodes.push({ ...node, n, state: i < beam ? "expanded" : "pruned", beam: i < beam ? i : null });
      if (i < beam) live.push(n);
    });
  }
  const chosen: number[] = [];
  for (let at: number | null = live[0]; at !== null; at = nodes[at].parent) chosen.unshift(at);
  return {
    schema: "beam/1",
    dropped_candidates: "",
    beam,
    length_penalty: 1,
    nodes: nodes.map((node) => (chosen.includes(node.n) ? { ...node, state: "chosen" } : node)),
    chosen,
    stable_prefix: 0,
  };
}
const spineOf = (limbs: ReturnType<typeof limbsOf>, tree: BeamDocument) =>
  new Set(limbs.flatMap((limb, i) => (limb.n !== null && tree.chosen.includes(limb.n) ? [i] : [])));

test("two nodes of one step are never less than a row apart, and the likelier stand nearer to the straight line", () => {
  for (const [steps, beam] of [
    [1, 1],
    [6, 1],
    [9, 4],
    [14, 5],
  ]) {
    const tree = search(steps, beam, steps * beam);
    const limbs = limbsOf(tree, search(steps, beam + 1, 99));
    const rows = rowsOf(limbs, spineOf(limbs, tree));
    assert.equal(Math.min(...rows), 0);
    const byStep = new Map<number, number[]>();
    limbs.forEach((limb, i) => byStep.set(limb.t, [...(byStep.get(limb.t) ?? []), rows[i]]));
    for (const list of byStep.values()) {
      list.sort((a, b) => a - b);
      for (let i = 1; i < list.length; i++) assert.ok(list[i] - list[i - 1] >= 1 - 1e-9);
    }
    for (const list of childrenOf(limbs)) {
      const away = list.map((child) => rows[child] - rows[list.find((other) => spineOf(limbs, tree).has(other)) ?? child]);
      for (const side of [away.filter((by) => by > 0), away.filter((by) => by < 0)])
        for (let i = 1; i < side.length; i++) assert.ok(Math.abs(side[i]) > Math.abs(side[i - 1]));
    }
    const most = Math.max(...[...byStep.values()].map((list) => list.length));
    assert.ok(Math.max(...rows) <= 2 * most);
  }
});

test("the answer runs in one straight line", () => {
  const tree = search(10, 4);
  const limbs = limbsOf(tree);
  const spine = spineOf(limbs, tree);
  const rows = rowsOf(limbs, spine);
  for (const i of spine) assert.ok(Math.abs(rows[i] - rows[0]) < 0.01);
});

test("places keep their order and their distance, and stay where they are when there is room", () => {
  assert.deepEqual(spaced([0, 3, 7], [1, 1, 1]), [0, 3, 7]);
  assert.deepEqual(spaced([0, 0, 0], [1, 1, 1]), [-1, 0, 1]);
  const firm = spaced([2, 2, 2, 9], [1, 1e7, 1, 1]);
  assert.ok(Math.abs(firm[1] - 2) < 1e-5 && Math.abs(firm[0] - 1) < 1e-5 && Math.abs(firm[2] - 3) < 1e-5 && firm[3] === 9);
  assert.deepEqual(spaced([], []), []);
});

test("shares of a step sum to one", () => {
  const tree = search(5, 3);
  const shares = sharesOf(tree.nodes);
  for (let t = -1; t < 5; t++) {
    const sum = tree.nodes.reduce((total, node) => total + (node.t === t ? shares[node.n] : 0), 0);
    assert.ok(Math.abs(sum - 1) < 1e-9);
  }
});

test("an earlier search is merged by path: same tokens are one node, its rejected leaves are left out", () => {
  const tree = search(6, 2);
  const same = limbsOf(tree, tree);
  assert.equal(same.length, tree.nodes.length);
  assert.ok(same.every((limb) => (limb.before === null) === (tree.nodes[limb.n!].state === "pruned")));
  const wider = limbsOf(tree, search(6, 4));
  const ghosts = wider.filter((limb) => limb.n === null);
  assert.ok(ghosts.length > 0 && ghosts.every((limb) => limb.before !== null));
  wider.forEach((limb, i) => assert.ok(limb.parent < i));
});

test("large trees count their rejected leaves, and lose none", () => {
  const tree = search(30, 5);
  assert.ok(tree.nodes.length > MOST);
  const limbs = limbsOf(tree);
  assert.ok(limbs.length < tree.nodes.length / 2 + 100);
  const drawn = limbs.flatMap((limb) => (limb.counted.length > 0 ? limb.counted : [limb.n!])).sort((a, b) => a - b);
  assert.deepEqual(
    drawn,
    tree.nodes.map((node) => node.n),
  );
});

test("paths, texts, bytes", () => {
  assert.deepEqual(spell([" movie", "s", " I"]), { text: "movies I", whole: true });
  assert.deepEqual(spell(["<0xEA>", "<0xB0>", "<0x80>", "!"]), { text: "가!", whole: true });
  assert.equal(spell(["<0xEA>", "<0xB0>"]).whole, false);
  const tree = search(3, 1);
  const last = tree.chosen[3];
  assert.deepEqual(
    pathOf(tree, last).map((node) => node.n),
    tree.chosen.slice(1),
  );
  assert.equal(textUpTo(tree, last).text, "w0 w0 w0");
  assert.equal(textUpTo(tree, 0).text, "");
});

test("a moment of the search knows the leader then, not the answer to come", () => {
  const node = (
    n: number,
    parent: number | null,
    t: number,
    text: string,
    score: number,
    state: BeamNode["state"],
    beam: number | null,
  ): BeamNode => ({ n, parent, t, id: n, text, logprob: score, score, norm: score, state, rank: 0, beam });
  const tree: BeamDocument = {
    schema: "beam/1",
    dropped_candidates: "",
    beam: 2,
    length_penalty: 0,
    stable_prefix: 0,
    chosen: [0, 2, 4],
    nodes: [
      node(0, null, -1, "<s>", 0, "chosen", 0),
      node(1, 0, 0, " a", -0.5, "expanded", 0),
      node(2, 0, 0, " b", -0.9, "chosen", 1),
      node(3, 1, 1, "</s>", -3, "finished", null),
      node(4, 2, 1, "</s>", -1, "chosen", null),
      node(5, 1, 1, " c", -4, "pruned", null),
    ],
  };
  assert.equal(stepsOf(tree), 2);
  assert.deepEqual([...momentOf(tree, 1).best].sort(), [0, 1]);
  assert.deepEqual([...momentOf(tree, 1).alive].sort(), [0, 1, 2]);
  assert.deepEqual([...momentOf(tree, 2).best].sort(), [0, 2, 4]);
  assert.deepEqual([...momentOf(tree, 2).alive].sort(), [0, 1, 2, 3, 4]);
  assert.deepEqual(
    endsOf(tree).map((end) => end.n),
    [4, 3],
  );
  assert.ok(!isEnd(tree, tree.nodes[2]));
  assert.equal(textUpTo(tree, 4).text, "b");
});

test("arrows walk the tree", () => {
  const tree = search(4, 2);
  const limbs = limbsOf(tree);
  const spine = spineOf(limbs, tree);
  const rows = rowsOf(limbs, spine);
  let at = 0;
  for (let t = 0; t < 4; t++) at = neighbour(limbs, rows, spine, at, "ArrowRight")!;
  assert.equal(limbs[at].n, tree.chosen[4]);
  assert.equal(neighbour(limbs, rows, spine, at, "ArrowRight"), null);
  const down = neighbour(limbs, rows, spine, at, "ArrowDown")!;
  assert.ok(rows[down] > rows[at] && limbs[down].t === limbs[at].t);
  assert.equal(neighbour(limbs, rows, spine, down, "ArrowUp"), at);
  assert.equal(neighbour(limbs, rows, spine, 0, "ArrowLeft"), null);
});

test("one answer cut in two ways stands once, and tokens that differ in a space alone are known", () => {
  const node = (n: number, parent: number | null, text: string, more: Partial<BeamNode> = {}): BeamNode => ({
    n,
    parent,
    t: parent === null ? -1 : 0,
    id: n,
    text,
    logprob: -n,
    score: -n,
    norm: -n,
    state: "expanded",
    rank: 0,
    beam: 0,
    ...more,
  });
  const end = { t: 1, state: "finished" as const };
  const nodes = [
    node(0, null, "<s>"),
    node(1, 0, " 2"),
    node(2, 0, "2"),
    node(3, 0, "3"),
    node(4, 1, "</s>", end),
    node(5, 2, "</s>", end),
    node(6, 3, "</s>", end),
  ];
  const tree: BeamDocument = { ...search(1, 1), nodes, chosen: [0, 1, 4] };
  assert.deepEqual(
    answersOf(tree).map(({ node: { n }, text, ways }) => [n, text, ways]),
    [
      [4, "2", 2],
      [6, "3", 1],
    ],
  );
  assert.deepEqual([...twinsOf(limbsOf(tree))], [1, 2]);
});
