/** A glossary as it is typed: `term = translation`, further choices behind `|`, terms between `;` or on lines of their own. */
export type GlossaryTerms = Readonly<Record<string, readonly string[]>>;

/** The lines of a TSV, as a form takes them. */
export const glossaryLines = (terms: GlossaryTerms | null): string =>
  Object.entries(terms ?? {})
    .map(([term, targets]) => `${term}\t${targets.join("|")}\n`)
    .join("");

/** The terms that are whole; null where there are none. What is still being typed is left out. */
export function parseGlossary(text: string): GlossaryTerms | null {
  const terms = new Map<string, readonly string[]>();
  for (const part of text.split(/[;\n]/)) {
    const at = part.indexOf("=");
    const term = part.slice(0, at).trim();
    const targets = part
      .slice(at + 1)
      .split("|")
      .map((choice) => choice.trim())
      .filter(Boolean);
    if (at > 0 && term && targets.length > 0) terms.set(term, targets);
  }
  return terms.size > 0 ? Object.fromEntries(terms) : null;
}
