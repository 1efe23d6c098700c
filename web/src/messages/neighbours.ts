/** Words of the states seen in training. */
export const neighbours = {
  title: ["Seen in training", "학습에서 본 것"],
  side: ["Which states", "어느 쪽 상태"],
  side_encoder: ["Read", "읽은 쪽"],
  side_decoder: ["Written", "쓴 쪽"],
  column_token: ["Token", "토큰"],
  column_likeness: ["Similarity", "비슷한 정도"],
  column_seen: ["Seen", "본 토큰"],
  column_source: ["Training source", "학습 원문"],
  column_target: ["Training answer", "학습 정답"],
  caption: [
    "Of {n} states kept from training, those whose direction is most like this token’s: 1 is the same. All are compared.",
    "학습에서 남겨 둔 상태 {n}개 가운데 이 토큰의 상태와 방향이 가장 비슷한 것입니다. 1이면 같습니다. 모두 비교했습니다.",
  ],
  state_encoder: [
    "A source token’s state is what the encoder offers for it; in a Transformer, its keys for the last attention to the source.",
    "원문 토큰의 상태는 인코더가 그 토큰에 대해 내놓는 것입니다. 트랜스포머에서는 마지막 크로스 어텐션의 키입니다.",
  ],
  state_decoder: [
    "A step’s state is what the last attention to the source hands on; without attention, the decoder’s own state.",
    "한 걸음의 상태는 마지막 크로스 어텐션이 넘겨주는 것입니다. 어텐션이 없으면 디코더의 상태입니다.",
  ],
  map: ["Map of states", "상태 지도"],
  map_caption: [
    "Each dot is a state from training, laid on the two directions in which they spread most ({a} and {b} of all spread). Yours have names; rings are the neighbours of the chosen one.",
    "점 하나가 학습에서 남겨 둔 상태 하나입니다. 가장 넓게 퍼진 두 방향(전체의 {a}와 {b})에 놓았습니다. 이름이 붙은 것은 지금 문장의 상태이고, 고리는 고른 토큰의 이웃입니다.",
  ],
  map_hover: ["Point at a dot to read what it is.", "점에 올려 두면 무엇인지 보입니다."],
  none: [
    "No states of training lie beside this model. Make them once: jumok neighbours -m MODEL --data NAME, or with the files that it was trained on.",
    "이 모델 옆에는 학습 때의 상태가 없습니다. 한 번 만들어 두세요: jumok neighbours -m MODEL --data NAME, 또는 학습에 쓴 파일로.",
  ],
  none_here: [
    "No states of training lie beside this model. Whoever made this page can add them: jumok neighbours -m MODEL --data NAME, then jumok site --neighbours.",
    "이 모델 옆에는 학습 때의 상태가 없습니다. 이 페이지를 만든 사람이 덧붙일 수 있습니다: jumok neighbours -m MODEL --data NAME, 그다음 jumok site --neighbours.",
  ],
} as const;
