/** The order of the book, note by note, and the sentences it shows. A chapter is `<id>.json` in this folder; an id whose file is
 *  not written yet is left out, a file that is not named here stops the build. */
export const ORDER = [
  // 000: from ids to the loss
  "tokens",
  "fixed-vector",
  "teacher-forcing",
  "luong-attention",
  "luong-to-the-end",
  "training-step",
  // 001: why attention
  "gradient-by-distance",
  "queries-keys-values",
  "heads",
  "positions",
  // 002: the formula
  "softmax",
  "why-scale",
  "cost",
  // 003: the whole Transformer
  "embedding",
  "encoder-layer",
  "decoder-layer",
  "positions-past-training",
  "beam",
  // 004: pictures, and the family after it
  "patches",
  "family",
] as const;

/** Sentences for models that read dates; others are shown their own examples. */
export const TEXTS = {
  short: "1998년 3월 24일 화요일",
  other: "5 mars 2024 kl. 14:30",
  long: "1998년 3월 24일 화요일 오후 8시 35분부터 1998년 11월 9일 월요일 오전 7시 12분까지",
  new: "🎉 den 5 mars 2024",
  hard: "1926년 9월 4일 오전 7시 58분",
} as const;
