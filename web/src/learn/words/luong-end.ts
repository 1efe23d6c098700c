/** Words of the figure from a look back to a word. */
export const luongEnd = {
  title: ["From the context to the next token", "문맥에서 다음 토큰까지"],
  ask: [
    "Set one half of [c; s] to 0 and keep all else. Without which half do more tokens of this answer come out wrong?",
    "[c; s]의 한쪽을 0으로 만들고 나머지는 그대로 둡니다. 어느 쪽이 없을 때 이 답의 토큰이 더 많이 틀릴까요?",
  ],
  without_c: ["without the context c", "문맥 c가 없을 때"],
  without_s: ["without the state s", "상태 s가 없을 때"],
  alike: ["both alike", "둘 다 같음"],
  why: [
    "Without c {c} of {all} tokens come out as before, without s {s} of {all}. How the two share the work is nobody’s rule: training decided it.",
    "토큰 {all}개 가운데 c가 없으면 {c}개, s가 없으면 {s}개가 그대로 나옵니다. 둘이 일을 어떻게 나눌지는 정해 준 것이 아니라 학습이 정했습니다.",
  ],
  probability: ["p", "p"],
} as const;
