/** Words of the figure of random scores, with and without the division. */
export const scaleEntropy = {
  title: ["Random queries and keys", "무작위 쿼리와 키"],
  ask: [
    "Queries and keys of 64 random numbers each, {keys} keys. An even look would have {full} bits. How many are left without the division?",
    "쿼리와 키는 무작위 수 64개씩이고 키는 {keys}개입니다. 고르게 보면 {full}비트입니다. 나누지 않으면 몇 비트가 남을까요?",
  ],
  why: [
    "{raw} bits: nearly all of the weight is on one key. Divided by √64 = 8 there are {scaled} bits.",
    "{raw}비트입니다. 가중치가 거의 다 키 하나에 쏠립니다. √64 = 8로 나누면 {scaled}비트입니다.",
  ],
  width: ["d_k, numbers of a key", "d_k, 키의 차원"],
  again: ["Other numbers", "다른 수로"],
  bits: ["Entropy of the weights, bits", "가중치의 엔트로피(비트)"],
  raw: ["without division", "나누지 않음"],
  scaled: ["divided by √d_k", "√d_k로 나눔"],
  key: ["key {n}", "키 {n}"],
  rest: ["and {n} more keys with less weight", "가중치가 더 작은 키 {n}개 더"],
  one: ["One query of the many: its weights", "그중 쿼리 하나의 가중치"],
  slope: [
    "Scores spread by {spread} (√d_k = {root}). Slope of the softmax, Σ w (1 − w): {raw} without the division, {scaled} with it. A gradient passes through this slope.",
    "점수의 표준편차는 {spread}입니다(√d_k = {root}). 소프트맥스의 미분값 Σ w (1 − w)는 나누지 않으면 {raw}, 나누면 {scaled}입니다. 이곳을 지나는 기울기에는 이 미분값이 곱해집니다.",
  ],
} as const;
