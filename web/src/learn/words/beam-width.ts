/** Words of the figure of the beam. */
export const beamWidth = {
  title: ["The search, wider and narrower", "넓은 탐색과 좁은 탐색"],
  ask: [
    "Greedy search reads “{text}” and writes {greedy}. Will a beam of 4 find an answer that the model holds for more probable?",
    "‘{text}’ 문장에 탐욕 탐색이 내놓은 답은 {greedy}입니다. 빔 4로 찾으면 모델이 확률이 더 높다고 보는 답이 나올까요?",
  ],
  yes: ["yes, another answer", "나옴, 다른 답"],
  no: ["no, the same answer", "나오지 않음, 같은 답"],
  why: [
    "A beam of 4 writes {text}, log-probability {after} instead of {before}. More probable for the model: whether it is right is another matter.",
    "빔 4의 답은 {text}이고, 로그 확률은 {before} 대신 {after}입니다. 모델이 보기에 확률이 더 높다는 뜻이지, 맞았다는 뜻은 아닙니다.",
  ],
  width: ["Beam", "빔"],
  found: ["Beam {beam} writes {text}, log-probability {score}", "빔 {beam}: {text}, 로그 확률 {score}"],
  token: ["token", "토큰"],
  step: ["step", "시점"],
  score: ["log-probability so far", "여기까지의 로그 확률"],
  state: ["kept", "남음"],
} as const;
