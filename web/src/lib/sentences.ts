/** Splitting a text into sentences, one trace each. */

/** End of a sentence: its mark, closing quotes and brackets, then white space. A dot after a digit (as in dates) is no end. */
const END = /(?<=[^\d\s][.!?…]["'”’)\]»]*)\s+|(?<=[。！？]["'”’」』）]*)\s*|\n+/u;

/**
 * Sentences of the text in order, trimmed, without empty ones; at least one. A line that a model can take as a
 * whole, of at most `room` characters, stays whole: "den 5 mars kl. 14:30" has a dot inside.
 */
export function sentencesOf(text: string, room = 0): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  const parts = lines.flatMap((line) => (line.length <= room ? [line] : line.split(END).map((part) => part.trim())));
  const full = parts.filter((part) => part !== "");
  return full.length > 0 ? full : [text.trim()];
}
