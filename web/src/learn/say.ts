/** Words of the book, which travel with its script and not with the page's: a table of `[English, Korean]` pairs, as in messages. */
import { fill, locale, type Args } from "../i18n";

export type Pairs = Readonly<Record<string, readonly [en: string, ko: string]>>;

/** `const say = wordsOf(table)`, then `say("title", { n: 3 })` in the language of the page. */
export const wordsOf =
  <T extends Pairs>(table: T) =>
  (key: keyof T & string, args?: Args): string =>
    fill(table[key][locale.value === "ko" ? 1 : 0], args);
