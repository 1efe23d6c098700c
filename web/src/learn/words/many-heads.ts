/** Words of the figure of many heads. */
export const manyHeads = {
  title: ["Every head of cross-attention", "크로스 어텐션의 모든 헤드"],
  choose: ["Choose a head to see it large.", "헤드를 고르면 크게 보입니다."],
  heads: ["Heads", "헤드"],
  name: ["layer {layer}, head {head}", "{layer}층 {head}번 헤드"],
  layer: ["L{n}", "{n}층"],
  ask: [
    "One head of layer {layer} is silenced at a time. Without which one does the answer {answer} become least likely?",
    "{layer}층의 헤드를 하나씩 꺼 봅니다. 답 {answer}의 확률은 어느 헤드가 없을 때 가장 낮아질까요?",
  ],
  head: ["head {n}", "{n}번 헤드"],
  why: [
    "The log-probability of the answer was {before} and is {after} without it.",
    "답의 로그 확률은 원래 {before}, 그 헤드가 없으면 {after}입니다.",
  ],
  without: ["log-probability without the head", "그 헤드가 없을 때의 로그 확률"],
  writes: ["then writes", "그때 쓰는 답"],
} as const;
