/** Words of the figure of longer and longer sentences. */
export const growing = {
  title: ["Longer and longer sentences", "점점 길어지는 문장"],
  ask: ["From which length on will the model with one vector go wrong?", "벡터 하나만 쓰는 모델은 어느 길이부터 틀릴까요?"],
  differ: ["From which length on will the answers of the two models differ?", "두 모델의 답은 어느 길이부터 달라질까요?"],
  from: ["{n} tokens", "토큰 {n}개"],
  never: ["never", "끝까지 맞음"],
  why: ["Marked characters are wrong. The answers still look like dates.", "표시한 글자가 틀린 곳입니다. 틀려도 여전히 날짜처럼 보입니다."],
  why_differ: ["Marked characters are not those of the other model.", "표시한 글자는 다른 모델의 답과 다른 곳입니다."],
  source: ["Sentence", "문장"],
  tokens: ["tokens", "토큰 수"],
  right: ["right answer", "정답"],
  alone: ["(no other model is loaded to compare with)", "(비교할 다른 모델이 없습니다)"],
} as const;
