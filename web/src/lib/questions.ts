/** A question and what it is about as one text, as models that answer questions read it: "␞ QUESTION ␟ CONTEXT". */
const QUESTION = "␞";
const CONTEXT = "␟";

const plain = (text: string) => text.replace(/[␞␟]/g, " ").replace(/\s+/g, " ").trim();

/** The text for the model; marks inside the two become spaces. */
export const joinQuestion = (question: string, context: string): string =>
  `${QUESTION} ${plain(question)} ${CONTEXT} ${plain(context)}`.trim();

/** The question and the context of such a text. */
export function splitQuestion(text: string): { readonly question: string; readonly context: string } {
  const at = text.indexOf(CONTEXT);
  if (!text.trimStart().startsWith(QUESTION) || at < 0) return { question: text.trim(), context: "" };
  return { question: text.slice(text.indexOf(QUESTION) + 1, at).trim(), context: text.slice(at + 1).trim() };
}
