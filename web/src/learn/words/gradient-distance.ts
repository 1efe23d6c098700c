/** Words of the figure of gradients by distance. */
export const gradientDistance = {
  title: ["How much of the loss reaches the first token", "손실은 첫 토큰에 얼마나 닿을까요"],
  weights: ["Weights", "가중치"],
  one: ["fresh, one direction", "학습 전, 한 방향"],
  fresh: ["fresh", "학습 전"],
  trained: ["trained", "학습 후"],
  ask: [
    "Models that have learned nothing yet read {n} tokens. How large is the gradient at the first token in “{model}”, compared with its largest?",
    "아직 아무것도 배우지 않은 모델들이 토큰 {n}개를 읽습니다. ‘{model}’에서 첫 토큰의 기울기는 가장 큰 기울기에 견주어 얼마일까요?",
  ],
  option_much: ["1/10 or more", "1/10 이상"],
  option_some: ["between 1/10 and 1/1,000,000", "1/10과 1/1,000,000 사이"],
  option_none: ["less than 1/1,000,000", "1/1,000,000보다 작음"],
  why_much: ["{first} against {largest}: it still has its say.", "{largest}에 견주어 {first}입니다. 첫 토큰도 여전히 영향을 줍니다."],
  why_some: ["{first} against {largest}: little is left of it.", "{largest}에 견주어 {first}입니다. 조금밖에 남지 않았습니다."],
  why_none: [
    "{first} against {largest}. Whatever the first token was, no update will learn from it.",
    "{largest}에 견주어 {first}입니다. 첫 토큰이 무엇이었든 어떤 갱신도 거기서 배우지 못합니다.",
  ],
  by_length: ["Gradient at the first token, by length", "길이에 따른 첫 토큰의 기울기"],
  by_place: ["Gradient at each token of the sentence", "문장의 각 토큰의 기울기"],
  length: ["tokens", "토큰 수"],
  place: ["place", "자리"],
  again: ["Other weights", "다른 가중치"],
  seed: ["Weights of seed {n}.", "시드 {n}의 가중치입니다."],
  about_one: [
    "Nobody has trained these weights, and recurrent encoders read from left to right only.",
    "아무도 학습시키지 않은 가중치이고, 순환 인코더는 왼쪽에서 오른쪽으로만 읽습니다.",
  ],
  about_fresh: [
    "Nobody has trained these weights. An encoder that reads in both directions is near to both ends: look at the middle of the sentence.",
    "아무도 학습시키지 않은 가중치입니다. 양방향 인코더는 양 끝이 모두 가깝습니다. 문장의 가운데를 보세요.",
  ],
  about_trained: [
    "The trained weights. A model that has learned its sentence has a small loss, and with it small gradients: compare shapes, not heights.",
    "학습을 마친 가중치입니다. 문장을 잘 배운 모델은 손실이 작고 기울기도 작습니다. 높이가 아니라 모양을 비교하세요.",
  ],
  failed: ["{model}: {reason}", "{model}: {reason}"],
} as const;
