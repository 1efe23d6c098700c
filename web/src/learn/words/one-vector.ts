/** Words of the figure of the one vector. */
export const oneVector = {
  title: ["Everything through one vector", "모든 것이 벡터 하나로"],
  ask: [
    "The encoder reads “{text}”. Before the decoder starts, its vector is swapped for that of “{other}”. What will the decoder write?",
    "인코더가 ‘{text}’ 문장을 읽습니다. 디코더가 시작하기 전에 그 벡터를 ‘{other}’ 문장의 벡터로 바꿔치기합니다. 디코더는 무엇을 쓸까요?",
  ],
  mixture: ["a mixture of both", "둘을 섞은 것"],
  something: ["something else: {text}", "다른 것: {text}"],
  why: [
    "All that the decoder knew of the sentence came through this vector.",
    "디코더가 문장에 대해 아는 것은 모두 이 벡터를 거쳐 왔습니다.",
  ],
  states: ["The state after each token", "토큰마다 고쳐 쓴 상태"],
  after: ["after {token}", "{token} 다음"],
  both: [
    "This encoder also reads from the end: half of each state comes from what follows.",
    "이 인코더는 뒤에서부터도 읽습니다. 상태의 절반은 뒤에 오는 토큰에서 나옵니다.",
  ],
  vector: ["What crosses: {n} numbers", "건너가는 것: 수 {n}개"],
  part: ["vector, row {n}", "벡터, {n}행"],
  writes: ["The decoder writes {text}", "디코더가 쓴 것: {text}"],
  rest: ["… {n} more {n:state|states}", "… 상태 {n}개 더"],
  dimension: ["number {n}", "수 {n}"],
} as const;
