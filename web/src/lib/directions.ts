/** The directions of a model that translates several: which languages can be chosen, and what a request then says. */

export interface Direction {
  readonly source: string;
  readonly target: string;
}
interface Several {
  /** the pairs that the model translates */
  readonly directions?: readonly Direction[];
  /** or its languages, each into every other */
  readonly languages?: readonly string[];
}

/** Languages that texts may be in. */
export const sourcesOf = (card: Several): string[] =>
  card.languages?.length ? [...card.languages] : [...new Set((card.directions ?? []).map((one) => one.source))];

/** Languages that a text in `source` may be translated into. */
export const targetsOf = (card: Several, source: string): string[] =>
  card.languages?.length
    ? card.languages.filter((code) => code !== source)
    : [...new Set((card.directions ?? []).filter((one) => one.source === source).map((one) => one.target))];

/** The direction that an address such as `en>de` means: as much of it as the model has, else its first; null for a model of one. */
export function chosenDirection(card: Several | null, text: string | undefined): Direction | null {
  const sources = card ? sourcesOf(card) : [];
  if (!card || sources.length === 0) return null;
  const [from = "", to = ""] = (text ?? "").split(">");
  const source = sources.includes(from) ? from : sources[0];
  const targets = targetsOf(card, source);
  return { source, target: targets.includes(to) ? to : targets[0] };
}
