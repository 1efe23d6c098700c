/** Words of the figure of the mask. */
export const maskWords = {
  title: ["What the decoder may look at", "디코더가 볼 수 있는 것"],
  step: ["Token to write", "쓸 토큰"],
  sees: [
    "Before it writes “{token}” it sees {n} {n:token|tokens}, and {hidden} {hidden:is|are} hidden.",
    "‘{token}’ 차례에는 토큰 {n}개가 보이고, {hidden}개는 가려져 있습니다.",
  ],
} as const;
