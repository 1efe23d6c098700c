/** Words of the figure that follows one token’s row through a model. */
export const passage = {
  step: ["step", "단계"],
  step_of: ["Step {n} of {all}", "{all}단계 중 {n}단계"],
  before: ["Step before", "이전 단계"],
  next: ["Next step", "다음 단계"],
  tokens_read: ["Tokens the encoder reads", "인코더가 읽는 토큰"],
  tokens_written: ["Tokens the decoder writes", "디코더가 쓰는 토큰"],
  row_of: ["the token’s row, {n} numbers", "이 토큰의 행, 수 {n}개"],
  other_row: [
    "Keys and values come from the encoder: this is the row of “{token}”.",
    "키와 밸류는 인코더에서 옵니다. ‘{token}’의 행입니다.",
  ],
  number: ["Number", "몇 번째 수"],
} as const;
