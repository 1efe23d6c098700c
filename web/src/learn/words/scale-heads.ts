/** Words of the figure of a model's own heads without the division. */
export const scaleHeads = {
  title: ["The model’s own heads without √d_k", "√d_k로 나누지 않을 때 이 모델의 헤드"],
  kind: ["Attention", "어텐션"],
  head: ["{layer} · {head}", "{layer} · {head}"],
  places: ["Layer · head", "층 · 헤드"],
  scaled: ["divided by √d_k, bits", "√d_k로 나눔, 비트"],
  raw: ["not divided, bits", "나누지 않음, 비트"],
  rest: ["and {n} more {n:head|heads}", "헤드 {n}개 더"],
  mean: [
    "Mean over the heads: {scaled} bits with the division by √{d} = {root}, {raw} bits without.",
    "헤드의 평균은 √{d} = {root}일 때, 나누면 {scaled}비트, 나누지 않으면 {raw}비트입니다.",
  ],
  same: ["Without the division, in every layer, it still writes “{after}”.", "모든 층에서 나누지 않아도 답은 여전히 ‘{after}’입니다."],
  other: [
    "It writes “{before}”; without the division, in every layer, “{after}”.",
    "원래 답은 ‘{before}’이고, 모든 층에서 나누지 않으면 ‘{after}’입니다.",
  ],
  not_scaled: ["This model does not divide its scores to begin with.", "이 모델은 처음부터 점수를 나누지 않습니다."],
} as const;
