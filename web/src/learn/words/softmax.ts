/** Words of the figure of the softmax. */
export const softmaxWords = {
  title: ["Scores in, shares out", "점수를 넣으면 비율이 나옵니다"],
  ask: ["All scores of this row are doubled. What happens to the weights?", "이 행의 점수를 모두 두 배로 하면 가중치는 어떻게 될까요?"],
  same: ["they stay the same", "그대로"],
  flatter: ["they come closer to each other", "서로 비슷해짐"],
  sharper: ["the largest gets even more", "가장 큰 것이 더 커짐"],
  why: [
    "The entropy goes from {before} to {after} bits. Move the sliders and see.",
    "엔트로피가 {before}비트에서 {after}비트로 바뀝니다. 슬라이더를 움직여 보세요.",
  ],
  times: ["Scores times", "점수 곱하기"],
  plus: ["Scores plus", "점수 더하기"],
  score: ["score e", "점수 e"],
  exp: ["exp(e − max)", "exp(e − 최댓값)"],
  weight: ["weight α", "가중치 α"],
  token: ["token", "토큰"],
  entropy: [
    "Entropy {bits} bits: as undecided as between {n} equal keys.",
    "엔트로피 {bits}비트: 똑같은 키 {n}개 사이에서 망설이는 정도입니다.",
  ],
  row: ["Scores of “{token}”, layer {layer}, head {head}", "‘{token}’의 점수, {layer}층 {head}번 헤드"],
  rest: ["and {n} more {n:key|keys} with less weight", "가중치가 더 작은 키 {n}개 더"],
} as const;
