/** The chapters of Learn as data: what they hold, the views they open, the models their figures need, and how questions are marked. */
import type { Op } from "./interventions";
import type { Arch, Card } from "../api-types";
import { fixed, number, percent } from "./format";
import { encodeOps, formatAddress, type Screen } from "./link";

/** MathML as nested lists: a tag with its children, or a text (letters are an identifier, digits a number, the rest an operator).
 *  `["t1", …]` to `["t6", …]` colour a term as the figures do. */
export type Formula = string | FormulaNode;
interface FormulaNode extends ReadonlyArray<Formula> {}

export type Which = "short" | "other" | "long" | "new" | "hard";
export interface View {
  /** models that can show it, the best first; none: two models or more, together */
  readonly arch: readonly Arch[];
  readonly screen: Screen;
  readonly text: Which;
  readonly params?: Readonly<Record<string, string>>;
  /** interventions; the text `{other}` stands for another sentence */
  readonly ops?: readonly Op[];
}

/** A paragraph and what stands beside it. */
export interface Block {
  readonly text: string;
  /** name of a figure in learn/figures */
  readonly figure?: string;
  /** number of a formula of the chapter, from 0, or several */
  readonly formula?: number | readonly number[];
  /** the formula in words */
  readonly says?: string;
}

/** Facts that the figures of a chapter tell, from the numbers they have drawn. */
export type Facts = Readonly<Record<string, number | string>>;

interface Asked {
  /** `{fact}` in any text of a question is replaced by the fact: `{x}` as a number, `{x:2}` with two decimals, `{x:%}` in percent */
  readonly ask: string;
  /** said after a wrong answer */
  readonly hint: string;
  /** said after the right one, or when the reader asks for it */
  readonly why: string;
}
export interface ChoiceQuestion extends Asked {
  readonly kind: "choice";
  readonly options: readonly string[];
  /** index of the right option, or a fact that is this index or the text of the option */
  readonly right: number | string;
}
export interface NumberQuestion extends Asked {
  readonly kind: "number";
  /** a fact */
  readonly right: string;
  /** how far off an answer may be */
  readonly within: number;
}
export type Question = ChoiceQuestion | NumberQuestion;

/** One chapter in one language. */
export interface ChapterText {
  readonly title: string;
  readonly blocks: readonly Block[];
  readonly tries: readonly { readonly label: string; readonly look: string }[];
  readonly question: Question;
}
export interface Chapter {
  readonly id: string;
  readonly note: "000" | "001" | "002" | "003" | "004";
  /** the sentence its figures show (default: short) */
  readonly text?: Which;
  readonly formulas: readonly Formula[];
  readonly views: readonly View[];
  readonly figures: readonly string[];
  readonly en: ChapterText;
  readonly ko: ChapterText;
}
export interface Book {
  /** sentences for models that read dates */
  readonly texts: Readonly<Record<Which, string>>;
  /** in the order of reading */
  readonly chapters: readonly Chapter[];
}

/** A sentence for a model: those prepared for models of dates, else the model's own examples by length. */
export function sentenceFor(book: Pick<Book, "texts">, card: Card, which: Which): string {
  if (card.target_language.startsWith("iso")) return book.texts[which];
  const sorted = [...card.examples].sort((a, b) => a.length - b.length);
  if (which === "new") return `🎉 ${sorted[0] ?? ""}`;
  return sorted[{ short: 0, other: sorted.length >> 1, hard: sorted.length >> 1, long: sorted.length - 1 }[which]] ?? book.texts[which];
}

/** The address of a chapter, or of the map; the model that was asked for stays asked for. */
export const chapterHref = (id: string, m = "") => formatAddress({ screen: "learn", rest: id, params: { m } });

/** The address of a view, with the place it comes from (`le`); null when no loaded model can show it. */
export function viewAddress(book: Book, chapter: Chapter, n: number, cards: readonly Card[]): string | null {
  const { arch, screen, text, params, ops } = chapter.views[n];
  const first = (name: Arch) => cards.find((card) => card.arch === name && card.source === "text");
  const together = arch.length === 0;
  const card = together ? (cards.length > 1 ? cards[0] : undefined) : arch.map(first).find(Boolean);
  if (!card) return null;
  const ms: Record<string, string> = together
    ? {
        ms: (["rnn", "luong", "transformer"] as const)
          .map((name) => first(name)?.name)
          .filter(Boolean)
          .join(","),
      }
    : {};
  const w = encodeOps((ops ?? []).map((op) => (op.text === "{other}" ? { ...op, text: sentenceFor(book, card, "other") } : op)));
  return formatAddress({
    screen,
    rest: "",
    params: { m: card.name, s: sentenceFor(book, card, text), ...ms, ...params, w, le: `${chapter.id}.${n + 1}` },
  });
}

/** The view that `le` of an address names: "tokens.1" for the first view of the chapter on tokens. */
export function viewOf(book: Book, le: string): { readonly chapter: Chapter; readonly n: number } | null {
  const [id, place] = le.split(".");
  const chapter = book.chapters.find((one) => one.id === id);
  const n = Number(place) - 1;
  return chapter?.views[n] ? { chapter, n } : null;
}

/** Why a figure cannot be drawn: no model at all, none of its architectures, or only models of the other kind of source. */
export type Lack = "none" | "arch" | "pictures" | "texts";

/** The model a figure shows: the one asked for if it fits, else the first of the best architecture. */
export function cardFor(
  { arch, reads = "text" }: { readonly arch: readonly Arch[]; readonly reads?: Card["source"] },
  cards: readonly Card[],
  asked?: string,
): Card | Lack {
  if (cards.length === 0) return "none";
  const fitting = arch.flatMap((name) => cards.filter((card) => card.arch === name && card.members.length === 0)); // an ensemble has no inside
  const readable = fitting.filter((card) => card.source === reads);
  if (readable.length > 0) return readable.find((card) => card.name === asked) ?? readable[0];
  if (fitting.length === 0) return "arch";
  return reads === "text" ? "pictures" : "texts";
}

/** Blocks that share a figure: it stands beside its own paragraph and those that follow, up to the next figure.
 *  Paragraphs before the first figure stand with it. */
export function spreads(blocks: readonly Block[]): readonly (readonly Block[])[] {
  const all: Block[][] = [];
  for (const block of blocks) {
    const last = all.at(-1);
    if (!last || (block.figure && last.some((one) => one.figure))) all.push([block]);
    else last.push(block);
  }
  return all;
}

/** Replaces `{fact}` by what the figures have told; an unknown fact is `…`. */
export const withFacts = (text: string, facts: Facts): string =>
  text.replace(/\{(\w+)(?::(\d|%))?\}/g, (_, name: string, form?: string) => {
    const value = facts[name];
    if (value === undefined) return "…";
    if (typeof value === "string") return value;
    return form === undefined ? number(value) : form === "%" ? percent(value) : fixed(value, Number(form));
  });

/** A number as people write it: a comma or a point, a real minus sign, full-width digits, percent; null for anything else. */
export function readNumber(text: string): number | null {
  const plain = text
    .normalize("NFKC")
    .replace(/[\s_]/g, "")
    .replace(/[−–]/g, "-")
    .replace(/^([-+]?\d*),(\d+)/, "$1.$2");
  const found = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(%?)$/i.exec(plain);
  return found ? Number(found[1]) / (found[2] ? 100 : 1) : null;
}

/** Names of the facts a question cannot do without. */
export const factsOf = (question: Question): string[] => [
  ...(typeof question.right === "string" ? [question.right] : []),
  ...[question.ask, ...(question.kind === "choice" ? question.options : [])].flatMap((text) =>
    [...text.matchAll(/\{(\w+)(?::(?:\d|%))?\}/g)].map((match) => match[1]),
  ),
];

/** The right answer: the index of an option, or a number; null until the figures have told what it needs. */
export function rightAnswer(question: Question, facts: Facts): number | null {
  if (factsOf(question).some((name) => facts[name] === undefined)) return null;
  if (typeof question.right === "number") return question.right;
  const fact = facts[question.right];
  if (question.kind === "number" || typeof fact === "number") return Number(fact);
  const at = question.options.findIndex((option) => withFacts(option, facts) === fact);
  return at < 0 ? null : at;
}

/** Whether an answer is right; null until the figures have told what the question needs. */
export function isRight(question: Question, answer: number, facts: Facts): boolean | null {
  const right = rightAnswer(question, facts);
  if (right === null) return null;
  return question.kind === "choice" ? answer === right : Math.abs(answer - right) <= question.within + 1e-9;
}

/** How far a reader is: chapters that were opened, and those whose question was answered. */
export type Progress = Readonly<Record<string, "seen" | "done">>;

/** Progress as the browser kept it; whatever else it holds is left out. */
export function readProgress(text: string | null): Progress {
  try {
    const kept: unknown = JSON.parse(text ?? "{}");
    if (typeof kept !== "object" || kept === null) return {};
    return Object.fromEntries(Object.entries(kept).filter(([, state]) => state === "seen" || state === "done")) as Progress;
  } catch {
    return {};
  }
}

/** Where to go on: the first chapter that is not done. */
export const nextOf = (book: Book, progress: Progress): Chapter | null =>
  book.chapters.find((chapter) => progress[chapter.id] !== "done") ?? null;
