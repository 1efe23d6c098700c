/** Words of the figure from a look back to a word. */
export const luongEnd = {
  title: ["From the context to the next token", "문맥에서 다음 토큰까지"],
  ask: [
    "At step {n} the model writes “{token}”. It was never less sure in this answer. How probable did it find the token?",
    "모델은 {n}번째 시점에 ‘{token}’을(를) 씁니다. 이 답에서 가장 자신 없던 시점입니다. 확률을 얼마로 보았을까요?",
  ],
  below: ["below 50 %", "50 % 미만"],
  half: ["50 to 90 %", "50~90 %"],
  high: ["90 to 99 %", "90~99 %"],
  sure: ["above 99 %", "99 % 이상"],
  why: ["{p}. Follow the row to see where that number comes from.", "{p}입니다. 행을 따라가며 이 수가 어디서 나오는지 보세요."],
  probability: ["p", "p"],
} as const;
