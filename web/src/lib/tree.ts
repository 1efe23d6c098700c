/** The tree of a beam search, ready to draw: two searches merged, rejected leaves counted, every node in its place. */
import type { BeamNode, BeamDocument } from "../api-types";

/** One node of the drawing. */
export interface Limb {
  /** index of the parent in the list, -1 for the root; parents stand before their children */
  readonly parent: number;
  readonly t: number;
  readonly text: string;
  readonly logprob: number;
  /** node of the search on show; null where only the earlier search went */
  readonly n: number | null;
  /** node of the earlier search; null where it did not go */
  readonly before: number | null;
  /** nodes that this one stands for, when rejected leaves are counted */
  readonly counted: readonly number[];
}

/** Above this many nodes, rejected leaves are counted instead of drawn. */
export const MOST = 400;

const rejected = (node: BeamNode) => node.state === "pruned";

/** The nodes to draw: those of `now`, and those of `before` that were not rejected; equal paths are one node. */
export function limbsOf(now: BeamDocument, before: BeamDocument | null = null): Limb[] {
  const counts = now.nodes.length > MOST;
  const limbs: { -readonly [K in keyof Limb]: Limb[K] }[] = [];
  const children = new Map<string, number>();
  const place = new Map<number, number>();
  const groups = new Map<number, number>();
  for (const node of now.nodes) {
    const parent = node.parent === null ? -1 : place.get(node.parent)!;
    const group = groups.get(parent);
    if (counts && rejected(node) && group !== undefined) {
      limbs[group].counted = [...limbs[group].counted, node.n];
      continue;
    }
    if (counts && rejected(node)) groups.set(parent, limbs.length);
    else children.set(`${parent} ${node.id}`, limbs.length);
    place.set(node.n, limbs.length);
    limbs.push({
      parent,
      t: node.t,
      text: node.text,
      logprob: node.logprob,
      n: node.n,
      before: null,
      counted: counts && rejected(node) ? [node.n] : [],
    });
  }
  if (!before) return limbs;
  const old = new Map<number, number>();
  for (const node of before.nodes) {
    if (rejected(node)) continue;
    const parent = node.parent === null ? -1 : old.get(node.parent)!;
    const same = children.get(`${parent} ${node.id}`);
    old.set(node.n, same ?? limbs.length);
    if (same !== undefined) {
      limbs[same].before = node.n;
    } else {
      children.set(`${parent} ${node.id}`, limbs.length);
      limbs.push({ parent, t: node.t, text: node.text, logprob: node.logprob, n: null, before: node.n, counted: [] });
    }
  }
  return limbs;
}

/** Children of each limb, the likeliest first, counted leaves last. */
export function childrenOf(limbs: readonly Limb[]): number[][] {
  const lists: number[][] = limbs.map(() => []);
  limbs.forEach((limb, i) => limb.parent >= 0 && lists[limb.parent].push(i));
  const order = (i: number) => (limbs[i].counted.length > 0 ? Infinity : -limbs[i].logprob);
  for (const list of lists) list.sort((a, b) => (order(a) === order(b) ? a - b : order(a) - order(b)));
  return lists;
}

/** The child that goes on straight from its parent: the one on the `spine`, else that with the most below it. */
export function mainChild(
  i: number,
  children: readonly (readonly number[])[],
  size: ArrayLike<number>,
  spine: ReadonlySet<number>,
): number {
  let best = -1;
  for (const child of children[i]) {
    if (spine.has(child)) return child;
    if (best < 0 || size[child] > size[best]) best = child;
  }
  return best;
}

/** Children from top to bottom: the main one in the middle, the others above and below it, the likelier nearer. */
function arranged(list: readonly number[], main: number, size: ArrayLike<number>): number[] {
  const [above, below]: [number[], number[]] = [[], []];
  let balance = 0;
  for (const child of list) {
    if (child === main) continue;
    if (balance <= 0) below.push(child);
    else above.unshift(child);
    balance += balance <= 0 ? size[child] : -size[child];
  }
  return main < 0 ? [] : [...above, main, ...below];
}

/** Places at least one apart, in the given order, as near as can be to those wished for: isotonic regression by pooling neighbours. */
export function spaced(wishes: readonly number[], weights: readonly number[]): number[] {
  const pools: { at: number; weight: number; count: number }[] = [];
  wishes.forEach((wish, i) => {
    let pool = { at: wish - i, weight: weights[i], count: 1 };
    for (let last = pools[pools.length - 1]; last && last.at > pool.at; last = pools[pools.length - 1]) {
      const weight = last.weight + pool.weight;
      pool = { at: (last.at * last.weight + pool.at * pool.weight) / weight, weight, count: last.count + pool.count };
      pools.pop();
    }
    pools.push(pool);
  });
  return pools.flatMap((pool) => new Array<number>(pool.count).fill(pool.at)).map((at, i) => at + i);
}

/** How firmly a limb keeps level with its parent: the answer always, what goes on rather than what ends. */
const FIRM = { spine: 1e7, goesOn: 12, leaf: 1 };

/** A row for every limb, step by step from the root: level with its parent where it is the main child, beside it where not, no line crossing another.
 *  Two limbs of one step are at least one row apart; the answer runs straight. The least row is 0. */
export function rowsOf(limbs: readonly Limb[], spine: ReadonlySet<number>): Float64Array {
  const children = childrenOf(limbs);
  const size = sizesOf(limbs);
  const rows = new Float64Array(limbs.length);
  let column = limbs.length > 0 ? [0] : [];
  while (column.length > 0) {
    const next: number[] = [];
    const wishes: number[] = [];
    for (const i of column) {
      const main = mainChild(i, children, size, spine);
      const list = arranged(children[i], main, size);
      list.forEach((child, k) => {
        next.push(child);
        wishes.push(rows[i] + k - list.indexOf(main));
      });
    }
    spaced(
      wishes,
      next.map((i) => (spine.has(i) ? FIRM.spine : children[i].length > 0 ? FIRM.goesOn : FIRM.leaf)),
    ).forEach((row, k) => (rows[next[k]] = row));
    column = next;
  }
  const least = rows.reduce((low, row) => Math.min(low, row), 0);
  return rows.map((row) => row - least);
}

/** How many limbs each subtree has. */
function sizesOf(limbs: readonly Limb[]): Float64Array {
  const size = new Float64Array(limbs.length).fill(1);
  for (let i = limbs.length - 1; i > 0; i--) size[limbs[i].parent] += size[i];
  return size;
}

/** Of the probability of all nodes recorded at a step, the share of each node. */
export function sharesOf(nodes: readonly BeamNode[]): Float64Array {
  const best = new Map<number, number>();
  for (const node of nodes) best.set(node.t, Math.max(best.get(node.t) ?? -Infinity, node.score));
  const sums = new Map<number, number>();
  for (const node of nodes) sums.set(node.t, (sums.get(node.t) ?? 0) + Math.exp(node.score - best.get(node.t)!));
  return Float64Array.from(nodes, (node) => Math.exp(node.score - best.get(node.t)!) / sums.get(node.t)!);
}

/** Nodes from the first token to `n`; the root is left out. */
export function pathOf(tree: BeamDocument, n: number): BeamNode[] {
  const path: BeamNode[] = [];
  for (let at: number | null = n; at !== null && tree.nodes[at].parent !== null; at = tree.nodes[at].parent) path.unshift(tree.nodes[at]);
  return path;
}

/** Whether the node is the end of an answer. */
export const isEnd = (tree: BeamDocument, node: BeamNode): boolean =>
  node.state === "finished" ||
  (node.n > 0 && node.n === tree.chosen[tree.chosen.length - 1] && (node.beam === null || node.text === "</s>"));

const BYTE = /^<0x([0-9A-Fa-f]{2})>$/;

/** The text that tokens spell, bytes joined into characters; `whole` is false when a character is cut short. */
export function spell(pieces: readonly string[]): { text: string; whole: boolean } {
  const parts: (string | number)[] = pieces.map((piece) => {
    const byte = BYTE.exec(piece);
    return byte ? parseInt(byte[1], 16) : piece;
  });
  let text = "";
  let bytes: number[] = [];
  const flush = () => {
    if (bytes.length > 0) text += new TextDecoder().decode(Uint8Array.from(bytes));
    bytes = [];
  };
  for (const part of parts) {
    if (typeof part === "number") bytes.push(part);
    else {
      flush();
      text += part;
    }
  }
  flush();
  return { text: text.trim(), whole: !text.includes("\ufffd") };
}

/** The text of an answer up to a node, without the mark of its end. */
export function textUpTo(tree: BeamDocument, n: number): { text: string; whole: boolean } {
  const path = pathOf(tree, n);
  const last = path[path.length - 1];
  return spell((last && isEnd(tree, last) ? path.slice(0, -1) : path).map((node) => node.text));
}

/** How many steps the search took. */
export const stepsOf = (tree: BeamDocument): number => tree.nodes.reduce((most, node) => Math.max(most, node.t + 1), 0);

export interface Moment {
  /** the best answer so far, from the root */
  readonly best: ReadonlySet<number>;
  /** nodes that still lead somewhere: to a hypothesis that lives on, or to one that has ended */
  readonly alive: ReadonlySet<number>;
}

/** The search as it stood after `step` steps; after the last one the best is the answer. */
export function momentOf(tree: BeamDocument, step: number): Moment {
  const last = step >= stepsOf(tree);
  const goesOn = new Set(tree.nodes.map((node) => node.parent));
  const ends = tree.nodes.filter((node) => node.t < step && isEnd(tree, node));
  const front = tree.nodes.filter((node) => node.t === step - 1 && !isEnd(tree, node) && (node.state === "expanded" || goesOn.has(node.n)));
  const up = (from: number, into: Set<number>) => {
    for (let at: number | null = from; at !== null && !into.has(at); at = tree.nodes[at].parent) into.add(at);
  };
  const alive = new Set<number>();
  for (const node of [...ends, ...(last ? [] : front)]) up(node.n, alive);
  if (last) {
    for (const n of tree.chosen) alive.add(n);
    return { best: new Set(tree.chosen), alive };
  }
  const leader = front.reduce<BeamNode | null>((best, node) => (best === null || node.score > best.score ? node : best), null);
  const best = new Set<number>();
  if (leader) up(leader.n, best);
  else for (const n of tree.chosen) if (tree.nodes[n].t < step) best.add(n);
  return { best, alive };
}

/** Ended hypotheses, the best first. */
export const endsOf = (tree: BeamDocument): BeamNode[] => tree.nodes.filter((node) => isEnd(tree, node)).sort((a, b) => b.norm - a.norm);

/** Different texts that the search ended with, the best way to each first, and in how many ways of cutting it into tokens. */
export function answersOf(tree: BeamDocument, ends: readonly BeamNode[] = endsOf(tree)): { node: BeamNode; text: string; ways: number }[] {
  const found = new Map<string, { node: BeamNode; text: string; ways: number }>();
  for (const node of ends) {
    const { text } = textUpTo(tree, node.n);
    const same = found.get(text);
    if (same) same.ways++;
    else found.set(text, { node, text, ways: 1 });
  }
  return [...found.values()];
}

/** Limbs with a sibling that differs in its space alone: " 2" beside "2". */
export function twinsOf(limbs: readonly Limb[]): ReadonlySet<number> {
  const seen = new Map<string, number[]>();
  limbs.forEach((limb, i) => {
    const key = JSON.stringify([limb.parent, limb.text.trim()]);
    if (limb.counted.length === 0) seen.set(key, [...(seen.get(key) ?? []), i]);
  });
  return new Set([...seen.values()].filter((list) => list.length > 1).flat());
}

/** Where the arrow keys lead from a limb: the parent, the main child, the neighbours of the same step. */
export function neighbour(
  limbs: readonly Limb[],
  rows: ArrayLike<number>,
  spine: ReadonlySet<number>,
  from: number,
  key: string,
): number | null {
  if (key === "ArrowLeft") return limbs[from].parent >= 0 ? limbs[from].parent : null;
  if (key === "ArrowRight") {
    const child = mainChild(from, childrenOf(limbs), sizesOf(limbs), spine);
    return child < 0 ? null : child;
  }
  if (key !== "ArrowUp" && key !== "ArrowDown") return null;
  const sign = key === "ArrowUp" ? -1 : 1;
  let found: number | null = null;
  limbs.forEach((limb, i) => {
    const by = (rows[i] - rows[from]) * sign;
    if (limb.t === limbs[from].t && by > 0 && (found === null || by < (rows[found] - rows[from]) * sign)) found = i;
  });
  return found;
}
