/** Words of the figure of one head. */
export const oneHead = {
  title: ["One head, one query", "헤드 하나, 쿼리 하나"],
  query: ["Choose the token that asks (the query)", "묻는 토큰(쿼리)을 고르세요"],
  asks: ["Tokens that ask", "묻는 토큰"],
  q_of: ["query of {token}", "{token}의 쿼리"],
  k_of: ["key of {token}", "{token}의 키"],
  v_of: ["value of {token}", "{token}의 밸류"],
  result: ["result", "결과"],
  product: ["q·k", "q·k"],
  scaled: ["q·k ÷ √d", "q·k ÷ √d"],
  weight: ["weight", "가중치"],
  token: ["token", "토큰"],
  rest: ["and {n} more {n:key|keys} with less weight", "가중치가 더 작은 키 {n}개 더"],
  strips: ["Its vectors, with {d} numbers each", "수 {d}개로 된 벡터들"],
  strongest: ["Most weight goes to {token}: {weight}.", "가장 큰 가중치: {token}, {weight}"],
} as const;
