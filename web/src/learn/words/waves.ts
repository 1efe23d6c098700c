/** Words of the figure of positions. */
export const wavesWords = {
  title: ["The waves of positions", "위치의 물결"],
  position: ["position {n}", "위치 {n}"],
  dimension: ["dimension {n}", "차원 {n}"],
  pair: ["Pair of dimensions i", "차원 쌍 i"],
  length: ["Sine and cosine repeat after {n} positions.", "사인과 코사인이 위치 {n}개마다 되풀이됩니다."],
  x: ["position p", "위치 p"],
  sine: ["sine, dimension {n}", "사인, 차원 {n}"],
  cosine: ["cosine, dimension {n}", "코사인, 차원 {n}"],
  chart: ["One pair over the positions", "위치에 따른 차원 한 쌍"],
  formula_only: [
    "This model places its tokens otherwise ({positions}); the picture is that of the formula.",
    "이 모델은 위치를 다르게 다룹니다({positions}). 그림은 수식을 그린 것입니다.",
  ],
  ask: [
    "The positions of “{text}” are taken away, and the answer was {answer}. What will the model write now?",
    "‘{text}’에서 위치를 없앱니다. 원래 답은 {answer}입니다. 이제 무엇을 쓸까요?",
  ],
  same: ["the same", "그대로"],
  shuffled: ["the same characters in another order", "같은 글자를 다른 순서로"],
  broken: ["something else", "전혀 다른 것"],
  why: [
    "It writes {text}. All tokens are there, but no longer their order.",
    "새 답은 {text}입니다. 토큰은 모두 있지만 순서가 사라졌습니다.",
  ],
} as const;
