/** What metrics are called, and which way is better. */

const NAMES: Readonly<Record<string, string>> = {
  bleu: "BLEU",
  "bleu-lc": "BLEU lc",
  chrf: "chrF++",
  "chrf-char": "chrF",
  ter: "TER",
  wer: "WER",
  cer: "CER",
  per: "PER",
  rouge1: "ROUGE-1",
  rouge2: "ROUGE-2",
  rougeL: "ROUGE-L",
};
/** The scores of a validation, in the order people ask for them. */
export const SCORES = ["bleu", "chrf", "exact", "rouge1", "rougeL", "per"];

/** A metric by the name people know it by; `words` are those that are not the same in every language. */
export const named = (metric: string, words: Readonly<Record<string, string>>): string => words[metric] ?? NAMES[metric] ?? metric;

/** Rates of errors, and losses: lower is better. */
export const falls = (metric: string): boolean => ["ter", "wer", "cer", "per", "ppl", "loss"].includes(metric);

/** Whether a metric runs from 0 to 100, more being better. */
export const outOf100 = (metric: string): boolean => metric === "exact" || /^(bleu|chrf|rouge)/.test(metric);
