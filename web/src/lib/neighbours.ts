/** Seen in training: the neighbours of a token as rows, and the map of states as points of a picture. */
import type { Neighbours, StatePoint, StateSide, TrainingPair } from "../api-types";
import type { TableData } from "./csv";

export type Side = "encoder" | "decoder";

/** The training pairs of an answer by their numbers. */
export const pairsOf = (found: Neighbours): ReadonlyMap<number, TrainingPair> => new Map(found.pairs.map((pair) => [pair.n, pair]));

/** A sentence in three parts: before a token, the token, after it; tokens begin with the space before them. */
export function around(tokens: readonly string[], place: number, most = 9): readonly [string, string, string] {
  const from = Math.max(0, place - most);
  const to = Math.min(tokens.length, place + most + 1);
  return [
    (from > 0 ? "…" : "") + tokens.slice(from, place).join(""),
    tokens[place] ?? "",
    tokens.slice(place + 1, to).join("") + (to < tokens.length ? "…" : ""),
  ];
}

/** A line for each neighbour of each token. */
export function neighboursTable(found: Neighbours, side: Side, head: readonly string[]): TableData {
  const pairs = pairsOf(found);
  return {
    head: [...head],
    rows: found[side].tokens.flatMap((token) =>
      token.near.map((near) => {
        const pair = pairs.get(near.pair);
        return [token.text, near.similarity, (pair?.[side][near.place] ?? "").trim(), pair?.source ?? "", pair?.target ?? ""];
      }),
    ),
  };
}

/** From places on the map to those of a picture with a margin; both axes have one scale, so that distances are true. */
export function scaleOf(side: StateSide, width: number, height: number, margin: number) {
  const all = [...side.points, ...side.tokens];
  const xs = all.map((one) => one.x);
  const ys = all.map((one) => one.y);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 2 * margin) / (right - left || 1), (height - 2 * margin) / (high - low || 1));
  const [cx, cy] = [(left + right) / 2, (low + high) / 2];
  return {
    x: (x: number) => width / 2 + (x - cx) * scale,
    y: (y: number) => height / 2 - (y - cy) * scale,
  };
}

/** The point nearest to a place of the picture, if it is within `reach`. */
export function pointAt(
  points: readonly StatePoint[],
  scale: { x(x: number): number; y(y: number): number },
  [x, y]: readonly [number, number],
  reach: number,
): StatePoint | null {
  let best: StatePoint | null = null;
  let least = reach;
  for (const point of points) {
    const far = Math.hypot(scale.x(point.x) - x, scale.y(point.y) - y);
    if (far <= least) [best, least] = [point, far];
  }
  return best;
}
