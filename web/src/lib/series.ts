/** One colour for each architecture, the same in every chart of the page and of reports. */

const OWN: Readonly<Record<string, number>> = { transformer: 1, rnn: 2, luong: 3 };
const COLOURS = 6;

/** The series colour, 1 to 6, of an architecture; undefined for one that has none of its own. */
export const ownColour = (arch: string | null | undefined): number | undefined => OWN[arch ?? ""];

/** Colours of several series: the first of an architecture has its colour, the others take those that no architecture has. */
export function coloursOf(archs: readonly (string | null | undefined)[]): number[] {
  const spare = COLOURS - Object.keys(OWN).length;
  let others = 0;
  return archs.map((arch, i) => {
    const own = archs.indexOf(arch) === i ? ownColour(arch) : undefined;
    return own ?? COLOURS - spare + 1 + (others++ % spare);
  });
}

/** The architecture of a system by its name: that of the loaded model of that name, else the one that the name speaks of. */
export function archOf(name: string, cards: readonly { readonly name: string; readonly arch: string }[]): string | null {
  const words = name.toLowerCase().split(/[^a-z]+/);
  return cards.find((card) => card.name === name)?.arch ?? ["transformer", "luong", "rnn"].find((arch) => words.includes(arch)) ?? null;
}
