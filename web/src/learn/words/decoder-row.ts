/** Words of the figures of one decoder layer. */
export const decoderRow = {
  title: ["One step through one decoder layer", "한 시점이 디코더 한 층을 지나는 길"],
  future: ["The same row in training and in inference", "학습할 때와 추론할 때의 같은 행"],
  step: ["Step", "시점"],
  ask: [
    "In training the decoder gets all {n} tokens at once; when it writes “{token}” in earnest, only the {known} before it exist. Will the two rows differ?",
    "학습할 때 디코더는 토큰 {n}개를 한꺼번에 받지만, 실제로 ‘{token}’ 토큰을 쓸 때는 앞의 {known}개만 있습니다. 두 행은 다를까요?",
  ],
  differ: ["yes, the later tokens change it", "다름, 뒤의 토큰이 바꿈"],
  equal: ["no, they are the same", "같음"],
  why: [
    "The largest difference is {most}. The mask gives every later token the weight 0, so it cannot matter whether they are there.",
    "가장 큰 차이는 {most}입니다. 마스크가 뒤의 토큰에 가중치 0을 주므로, 뒤의 토큰이 있든 없든 상관없습니다.",
  ],
  training: ["training: all {n} tokens, masked", "학습: 토큰 {n}개 모두, 마스크 사용"],
  inference: ["inference: the first {n} only", "추론: 앞의 {n}개만"],
  weights: ["Weights of masked self-attention, layer 1, head 1", "마스크드 셀프 어텐션의 가중치, 1층 1번 헤드"],
  difference: ["Largest difference of the {n} numbers: {most}", "수 {n}개 중 가장 큰 차이: {most}"],
  cannot: [
    "The first tokens alone would be cut into tokens differently, so there is nothing to compare here. Choose another step.",
    "앞부분만 떼면 토큰이 다르게 나뉘어 비교할 수 없습니다. 다른 시점을 골라 보세요.",
  ],
} as const;
