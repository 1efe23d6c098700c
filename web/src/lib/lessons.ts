/** The chapters of Learn as data: formulas, and the views each one opens, for the models that are loaded. */
import type { Arch, Card, Op } from "../api-types";
import { encodeOps, formatAddress, type Screen } from "./link";

/** MathML as nested lists: a tag with its children, or a text (a letter is an identifier, a number a number, the rest an operator). */
export type Formula = string | FormulaNode;
interface FormulaNode extends ReadonlyArray<Formula> {}

const row = (...parts: Formula[]): Formula => ["mrow", ...parts];
const sub = (a: Formula, b: Formula): Formula => ["msub", a, b];
const sup = (a: Formula, b: Formula): Formula => ["msup", a, b];
const [q, k, v]: Formula[] = ["Q", "K", "V"];
const dk = sub("d", "k");
const score = sub("e", row("t", "j"));
const weight = sub("α", row("t", "j"));

export const FORMULAS: readonly (readonly Formula[])[] = [
  [row(sub("x", "j"), "=", sub("E", sub("id", "j")))],
  [row(sub("h", "j"), "=", "f", "(", sub("x", "j"), ",", sub("h", row("j", "−", "1")), ")"), row(sub("s", "0"), "=", sub("h", "S"))],
  [row(score, "=", sup(sub("s", "t"), "T"), sub("W", "a"), sub("h", "j")), row(sub("α", "t"), "=", "softmax", "(", sub("e", "t"), ")"), row(sub("c", "t"), "=", ["munder", "∑", "j"], weight, sub("h", "j"))],
  [row("Attention", "(", q, ",", k, ",", v, ")", "=", "softmax", "(", ["mfrac", row(q, sup(k, "T")), ["msqrt", dk]], ")", v)],
  [row(sub("α", "j"), "=", ["mfrac", row("exp", "(", sub("e", "j"), ")"), row(["munder", "∑", "i"], "exp", "(", sub("e", "i"), ")")])],
  [row("MultiHead", "=", "[", sub("head", "1"), ";", "…", ";", sub("head", "h"), "]", sup("W", "O"))],
  [row(sub("PE", row("p", ",", "2", "i")), "=", "sin", "(", ["mfrac", "p", sup("10000", row("2", "i", "/", "d"))], ")"), row(sub("PE", row("p", ",", "2", "i", "+", "1")), "=", "cos", "(", ["mfrac", "p", sup("10000", row("2", "i", "/", "d"))], ")")],
  [row("score", "(", "y", ")", "=", ["mfrac", "1", row("lp", "(", "y", ")")], ["munder", "∑", "t"], "log", "p", "(", sub("y", "t"), "|", sub("y", row("<", "t")), ",", "x", ")"), row("lp", "(", "y", ")", "=", sup(row("(", ["mfrac", row("5", "+", "|", "y", "|"), "6"], ")"), "α"))],
];

type Which = "short" | "other" | "long" | "new";
const DATES: Readonly<Record<Which, string>> = {
  short: "1998년 3월 24일 화요일",
  other: "den 5 mars 2024 kl. 14:30",
  long: "1998년 3월 24일 화요일 오후 8시 35분부터 1998년 11월 9일 월요일 오전 7시 12분까지",
  new: "🎉 den 5 mars 2024",
};

/** A sentence for a model: those prepared for models of dates, else the model's own examples by length. */
export function sentenceFor(card: Card, which: Which): string {
  if (card.target_language.startsWith("iso")) return DATES[which];
  const sorted = [...card.examples].sort((a, b) => a.length - b.length);
  if (sorted.length === 0) return "";
  if (which === "new") return "🎉 " + sorted[0];
  return sorted[{ short: 0, other: sorted.length >> 1, long: sorted.length - 1 }[which]];
}

interface Try {
  /** models that can show it, the best first; none: two or more models */
  readonly arch: readonly Arch[];
  readonly screen: Screen;
  readonly text: Which;
  readonly params?: Readonly<Record<string, string>>;
  readonly ops?: (card: Card) => readonly Op[];
}
const T: readonly Arch[] = ["transformer"];
const ANY: readonly Arch[] = ["transformer", "luong", "rnn"];

export const TRIES: readonly (readonly Try[])[] = [
  [{ arch: ANY, screen: "translate", text: "short" }, { arch: ANY, screen: "translate", text: "new" }],
  [{ arch: [], screen: "compare", text: "long" }, { arch: ["rnn"], screen: "translate", text: "short", ops: (card) => [{ op: "bridge", mode: "swap", text: sentenceFor(card, "other") }] }],
  [{ arch: ["luong"], screen: "attention", text: "long" }, { arch: ["luong"], screen: "translate", text: "short", ops: () => [{ op: "bridge", mode: "zero" }] }],
  [{ arch: T, screen: "inside", text: "short", params: { k: "cross" } }, { arch: T, screen: "attention", text: "short", params: { k: "enc_self", l: "1" } }],
  [{ arch: ["transformer", "luong"], screen: "inside", text: "short", params: { k: "cross", stage: "4" } }, { arch: T, screen: "attention", text: "long", params: { k: "cross" }, ops: () => [{ op: "no_scale", kind: "cross" }] }],
  [{ arch: T, screen: "attention", text: "short", params: { k: "cross" } }, { arch: T, screen: "attention", text: "short", params: { k: "cross", c: "sweep" } }],
  [{ arch: T, screen: "translate", text: "short", ops: () => [{ op: "positions", mode: "none", side: "source" }] }, { arch: T, screen: "inside", text: "short", params: { tab: "positions" } }, { arch: T, screen: "attention", text: "long", params: { k: "dec_self", l: "1" } }],
  [{ arch: ["rnn", "luong", "transformer"], screen: "beam", text: "other", params: { b: "4" } }, { arch: ["rnn", "luong", "transformer"], screen: "beam", text: "other", params: { b: "1" } }],
];

/** The address that a chapter's try opens, and whether it has interventions; null when no loaded model can show it. */
export function tryAddress(chapter: number, n: number, cards: readonly Card[]): { readonly address: string; readonly edited: boolean } | null {
  const { arch, screen, text, params, ops } = TRIES[chapter][n];
  const several = arch.length === 0;
  if (several && cards.length < 2) return null;
  const card = several ? cards[0] : arch.map((name) => cards.find((one) => one.arch === name)).find((found) => found !== undefined);
  if (!card) return null;
  const ms: Record<string, string> = several ? { ms: (["rnn", "luong", "transformer"] as const).map((name) => cards.find((one) => one.arch === name)?.name).filter(Boolean).join(",") } : {};
  const found = { m: card.name, s: sentenceFor(card, text), ...ms, ...params, w: ops ? encodeOps(ops(card)) : "", le: `${chapter + 1}.${n + 1}` };
  return { address: formatAddress({ screen, rest: "", params: found }), edited: ops !== undefined };
}

/** `le` of an address, "2.1" for the first try of the second chapter, from 0; null for anything else. */
export function lessonOf(text: string | undefined): { readonly chapter: number; readonly n: number } | null {
  const found = /^(\d)\.(\d)$/.exec(text ?? "");
  const [chapter, n] = found ? [Number(found[1]) - 1, Number(found[2]) - 1] : [-1, -1];
  return TRIES[chapter]?.[n] ? { chapter, n } : null;
}
