/** Names of languages for readers, from the codes that models carry. */

/** The language of a code in words of `locale`; `many` stands for several languages. A code that names nothing gives "", one that is no language stays itself. */
export function languageName(code: string, locale: string, many: string): string {
  if (code === "mul") return many;
  if (code === "" || code === "und") return "";
  if (/^iso\d+$/i.test(code)) return `ISO ${code.slice(3)}`;
  try {
    return new Intl.DisplayNames(locale, { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}

/** Whether a model answers in the language it is asked in, so that one can talk with it; a translator does not. */
export const answersQuestions = (card: { readonly source_language: string; readonly target_language: string }): boolean =>
  card.source_language === card.target_language;
