/** The sentences of a text, one trace each. The server knows where they end; lines are told apart here. */

/** What may end a sentence, with more behind it. */
const MARK = /[.!?…。！？｡؟۔।](?=.*\S)/su;

/** Lines of the text in order, trimmed, without blank ones; at least one. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  const full = lines.filter((line) => line !== "");
  return full.length > 0 ? full : [""];
}

/** Whether to ask where sentences end: a model that takes them one by one, or a line that is longer than `room` characters. */
export function mayHaveSeveral(text: string, taken: "split" | "as-is", room = 0): boolean {
  return linesOf(text).some((line) => MARK.test(line) && (taken === "split" || line.length > room));
}
