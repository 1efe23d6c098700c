/** Pairs to train on: how they are pasted, and an example to begin with. */

/** Whether a text is a table: then its lines hold both sides. */
export const hasColumns = (text: string): boolean => text.includes("\t");

export const bytesIn = (text: string): number => new TextEncoder().encode(text).length;

/** "3, 8, 21", and a mark for more than are named. */
export const lineList = (lines: readonly number[], count: number): string => lines.join(", ") + (count > lines.length ? ", …" : "");

interface Language {
  /** [subject, object, English] */
  readonly nouns: readonly (readonly [string, string, string])[];
  readonly verbs: readonly (readonly [string, string])[];
  /** [as subject, as object, English] */
  readonly adjectives: readonly (readonly [string, string, string])[];
  readonly times: readonly (readonly [string, string])[];
  readonly order: (time: string, subject: string, object: string, verb: string) => string[];
}

/** The verb comes last: what a model must learn is to look far ahead. */
const KOREAN: Language = {
  nouns: [
    ["개가", "개를", "dog"],
    ["고양이가", "고양이를", "cat"],
    ["새가", "새를", "bird"],
    ["소년이", "소년을", "boy"],
    ["선생님이", "선생님을", "teacher"],
    ["친구가", "친구를", "friend"],
  ],
  verbs: [
    ["본다", "sees"],
    ["좋아한다", "likes"],
    ["기다린다", "waits for"],
    ["부른다", "calls"],
    ["돕는다", "helps"],
  ],
  adjectives: [
    ["", "", ""],
    ["작은", "작은", "small"],
    ["큰", "큰", "big"],
    ["좋은", "좋은", "good"],
  ],
  times: [
    ["", ""],
    ["오늘", "today"],
    ["지금", "now"],
  ],
  order: (time, subject, object, verb) => [time, subject, object, verb],
};

/** The verb comes second, so that the subject moves behind it where the sentence begins with a time. */
const GERMAN: Language = {
  nouns: [
    ["Hund", "Hund", "dog"],
    ["Vogel", "Vogel", "bird"],
    ["Junge", "Jungen", "boy"],
    ["Lehrer", "Lehrer", "teacher"],
    ["Freund", "Freund", "friend"],
    ["Bäcker", "Bäcker", "baker"],
  ],
  verbs: [
    ["sieht", "sees"],
    ["mag", "likes"],
    ["sucht", "looks for"],
    ["ruft", "calls"],
    ["fragt", "asks"],
  ],
  adjectives: [
    ["", "", ""],
    ["kleine", "kleinen", "small"],
    ["große", "großen", "big"],
    ["gute", "guten", "good"],
  ],
  times: [
    ["", ""],
    ["heute", "today"],
    ["jetzt", "now"],
  ],
  order: (time, subject, object, verb) =>
    time ? [time, verb, `der ${subject}`, `den ${object}`] : [`der ${subject}`, verb, `den ${object}`],
};

/** So many different pairs of a small language, always the same: Korean or German, and English. */
export function examplePairs(language: "ko" | "de", count = 600): string {
  const { nouns, verbs, adjectives, times, order } = language === "ko" ? KOREAN : GERMAN;
  let seed = 7;
  const draw = <V>(from: readonly V[]): V => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return from[Math.floor((seed / 2 ** 32) * from.length)];
  };
  const words = (...parts: string[]) => parts.filter(Boolean).join(" ");
  const found = new Set<string>();
  while (found.size < count) {
    const [one, other, verb, mine, theirs, time] = [draw(nouns), draw(nouns), draw(verbs), draw(adjectives), draw(adjectives), draw(times)];
    if (one === other) continue;
    const left = words(...order(time[0], words(mine[0], one[0]), words(theirs[1], other[1]), verb[0]));
    found.add(`${left}\t${words("the", mine[2], one[2], verb[1], "the", theirs[2], other[2], time[1])}`);
  }
  return [...found].join("\n");
}
