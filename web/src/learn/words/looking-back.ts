/** Words of the figure of one look back. */
export const lookingBack = {
  title: ["One look back, with its numbers", "한 번 되돌아볼 때의 수"],
  target: ["Tokens the decoder writes", "디코더가 쓰는 토큰"],
  pick: ["Point at a token that is written, or choose it with the arrow keys.", "쓰는 토큰을 가리키거나 화살표 키로 고르세요."],
  ask: [
    "The decoder is about to write “{token}”. At which token of “{text}” will it look?",
    "디코더가 이제 쓸 토큰은 ‘{token}’입니다. ‘{text}’의 어느 토큰을 볼까요?",
  ],
  why: [
    "Its weight is {weight}. No one told the model: it learned from pairs of sentences where to look.",
    "그 가중치는 {weight}입니다. 아무도 가르쳐 주지 않았고, 모델은 문장 쌍만 보고 어디를 볼지 배웠습니다.",
  ],
  score: ["score e", "점수 e"],
  weight: ["weight α", "가중치 α"],
  rest: ["and {n} more {n:token|tokens} with less weight", "가중치가 더 작은 토큰 {n}개 더"],
  mix: ["The context c is the mix of the states h", "문맥 c는 상태 h를 섞은 것"],
  state: ["state of {token}", "{token}의 상태"],
  others: ["the others", "나머지"],
  context: ["context, {n} numbers", "문맥, 수 {n}개"],
  token: ["token", "토큰"],
} as const;
