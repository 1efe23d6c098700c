/** Words of the figure of teacher forcing and free running. */
export const freeRunningWords = {
  title: [
    "The same sentence forced, free, and after one wrong token",
    "같은 문장을 세 가지로: 정답을 읽고, 자기가 쓴 것을 읽고, 틀린 토큰을 읽고",
  ],
  intro: [
    "The source is “{text}”, the reference “{target}”. Choose a token of the reference, then a wrong one to put in its place.",
    "입력은 ‘{text}’, 정답은 ‘{target}’입니다. 정답의 토큰 하나를 고르고, 그 자리에 넣을 틀린 토큰을 고르세요.",
  ],
  nothing: [
    "This model writes nothing here, so there is no token to replace.",
    "이 모델은 여기서 아무것도 쓰지 않으므로 바꿀 토큰이 없습니다.",
  ],
  own: [
    "The right answer is not known here; the model’s own, or its beginning, serves as the reference.",
    "여기서는 정답을 알 수 없어 모델이 쓴 답이나 그 앞부분을 정답으로 삼습니다.",
  ],
  place: ["Token of the reference", "정답의 토큰"],
  wrong: ["Wrong token", "틀린 토큰"],
  reference: ["reference", "정답"],
  forced: ["after right tokens", "정답을 읽고"],
  free: ["after its own", "자기가 쓴 것을 읽고"],
  slipped: ["after the wrong one", "틀린 토큰을 읽고"],
  ask: [
    "Token {n}, “{right}”, becomes “{wrong}”, and from there each model reads what it writes itself. Which of them get all the rest right?",
    "{n}번째 토큰을 바꿉니다(‘{right}’ → ‘{wrong}’). 그 뒤로는 모델마다 스스로 쓴 것을 읽습니다. 나머지를 모두 맞게 쓰는 모델은 어느 것일까요?",
  ],
  none: ["none", "없음"],
  attention: ["those with attention", "어텐션이 있는 모델"],
  all: ["all of them", "모두"],
  mix: ["another mix", "다른 조합"],
  why: ["Wrong besides the one put in: {each}.", "넣은 것 말고 틀린 토큰 수: {each}."],
  loss: ["loss of the reference", "정답의 손실"],
  mean: ["mean loss", "평균 손실"],
  is_wrong: ["wrong", "틀림"],
  put_in: ["put in", "넣은 토큰"],
  bars: [
    "A bar under a token is the loss of the right token there, −log p, after what this run has read: longer is worse. Struck tokens are wrong.",
    "토큰 아래 막대는 여기까지 읽었을 때 그 자리의 정답 토큰이 받는 손실 −log p입니다. 길수록 나쁩니다. 줄을 그은 토큰은 틀린 것입니다.",
  ],
  failed: ["{model} does not know this token.", "{model} 모델은 이 토큰을 모릅니다."],
  run: ["run", "실행"],
} as const;
