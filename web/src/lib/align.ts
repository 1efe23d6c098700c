/** Alignments as text that other tools read: Pharaoh's links and the soft form of Nematus. */
import type { TraceSide } from "../api-types";
import { mergeWords, type Matrix } from "./matrix";
import { range } from "./range";
import { wordUnits } from "./tokens";

const THRESHOLD = 0.1;

/** Weights between words, (T + 1) × (S + 1): the last row and column are the ends of the sentences. */
export function wordWeights(weights: Matrix, source: TraceSide, target: TraceSide): Matrix {
  const groups = (side: TraceSide) => wordUnits(side).map((unit) => unit.tokens);
  return mergeWords(weights, groups(target), groups(source));
}

/** `0-0 3-1 2-3`: each target word with the source word it looked at most, where that is no end and at least 0.1. */
export function pharaoh(m: Matrix): string {
  const links: string[] = [];
  for (let t = 0; t < m.rows - 1; t++) {
    let best = 0;
    for (let s = 1; s < m.cols; s++) if (m.data[t * m.cols + s] > m.data[t * m.cols + best]) best = s;
    if (best < m.cols - 1 && m.data[t * m.cols + best] >= THRESHOLD) links.push(`${best}-${t}`);
  }
  return links.join(" ");
}

const escaped = (word: string) => word.replace(/[&|\s]/gu, (char) => `&#${char.codePointAt(0)};`);

/** The text form of Nematus: a line of words and sizes, then a row of weights for each target word and its end. */
export function nematus(m: Matrix, source: TraceSide, target: TraceSide, score: number): string {
  const words = (side: TraceSide) =>
    wordUnits(side)
      .filter((unit) => side.tokens[unit.tokens[0]].type !== "special")
      .map((unit) => escaped(unit.text))
      .join(" ");
  const head = ["0", words(target), String(score), words(source), `${m.cols} ${m.rows}`].join(" ||| ");
  const rows = range(m.rows).map((t) =>
    Array.from(m.data.subarray(t * m.cols, (t + 1) * m.cols), (w) => String(Number(w.toPrecision(9)))).join(" "),
  );
  return [head, ...rows, "", ""].join("\n");
}
