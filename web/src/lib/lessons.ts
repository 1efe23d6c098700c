/** The chapters of Learn (learn.json) and the views they open, for the models that are loaded. */
import type { Op } from "./interventions";
import type { Arch, Card } from "../api-types";
import { encodeOps, formatAddress, type Screen } from "./link";

/** MathML as nested lists: a tag with its children, or a text (letters are an identifier, digits a number, the rest an operator). */
export type Formula = string | FormulaNode;
interface FormulaNode extends ReadonlyArray<Formula> {}

type Which = "short" | "other" | "long" | "new";
export interface View {
  /** models that can show it, the best first; none: two models or more, together */
  readonly arch: readonly Arch[];
  readonly screen: Screen;
  readonly text: Which;
  readonly params?: Readonly<Record<string, string>>;
  /** interventions; the text `{other}` stands for another sentence */
  readonly ops?: readonly Op[];
}
export interface Chapter {
  readonly title: string;
  readonly text: readonly string[];
  /** the formula in words */
  readonly says: string;
  readonly tries: readonly { readonly label: string; readonly look: string }[];
}
export interface Book {
  /** sentences for models that read dates */
  readonly texts: Readonly<Record<Which, string>>;
  readonly chapters: readonly { readonly formulas: readonly Formula[]; readonly views: readonly View[] }[];
  readonly en: readonly Chapter[];
  readonly ko: readonly Chapter[];
}

/** A sentence for a model: those prepared for models of dates, else the model's own examples by length. */
export function sentenceFor(book: Book, card: Card, which: Which): string {
  if (card.target_language.startsWith("iso")) return book.texts[which];
  const sorted = [...card.examples].sort((a, b) => a.length - b.length);
  if (which === "new") return `🎉 ${sorted[0] ?? ""}`;
  return sorted[{ short: 0, other: sorted.length >> 1, long: sorted.length - 1 }[which]] ?? "";
}

/** The address of a view, with the place it comes from (`le`); null when no loaded model can show it. */
export function viewAddress(book: Book, chapter: number, n: number, cards: readonly Card[]): string | null {
  const { arch, screen, text, params, ops } = book.chapters[chapter].views[n];
  const first = (name: Arch) => cards.find((card) => card.arch === name);
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
    params: { m: card.name, s: sentenceFor(book, card, text), ...ms, ...params, w, le: `${chapter + 1}.${n + 1}` },
  });
}
