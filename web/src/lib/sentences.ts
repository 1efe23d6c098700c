/** Splitting a text into sentences, one trace each. */

/** End of a sentence: its mark, closing quotes and brackets, then white space. A dot after a digit (as in dates) is no end. */
const END = /(?<=[^\d\s][.!?…]["'”’)\]»]*)\s+|(?<=[。！？]["'”’」』）]*)\s*|\n+/u;

/** Sentences of the text in order, trimmed, without empty ones; at least one. */
export function sentencesOf(text: string): string[] {
  const parts = text.split(END).map((part) => part.trim());
  const full = parts.filter((part) => part !== "");
  return full.length > 0 ? full : [text.trim()];
}
