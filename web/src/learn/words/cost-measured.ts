/** Words of the figure of costs. */
export const costMeasured = {
  title: ["What one layer costs", "층 하나의 비용"],
  part_attention: ["self-attention, 2N²d", "셀프 어텐션, 2N²d"],
  part_recurrence: ["recurrence, 2Nd²", "순환, 2Nd²"],
  part_feedforward: ["feed-forward, 8Nd²", "피드포워드, 8Nd²"],
  ms_attention: ["self-attention, measured", "셀프 어텐션, 잰 값"],
  ms_recurrence: ["recurrence, measured", "순환, 잰 값"],
  ms_feedforward: ["feed-forward, measured", "피드포워드, 잰 값"],
  n: ["N, tokens", "N, 토큰 수"],
  d: ["d, width", "d, 차원"],
  count: ["Multiplications by the formula", "식으로 센 곱셈 수"],
  time: ["Milliseconds in this tab, and the formula", "이 탭에서 잰 시간(밀리초)과 식"],
  at: ["At N = {n}, d = {d}", "N = {n}, d = {d}에서"],
  measure: ["Measure on this machine", "이 기기에서 재기"],
  measuring: ["Measuring … N = {n}", "재는 중 … N = {n}"],
  not_yet: [
    "The lines are the formula. Press the button, and this tab does the work itself, one core, plain loops, and draws the times beside it.",
    "선은 식으로 구한 값입니다. 단추를 누르면 이 탭이 한 코어에서 단순한 반복문으로 직접 계산하고, 걸린 시간을 옆에 그립니다.",
  ],
  measured: [
    "From N = {from} to {to} the time grew as N to the power of {attention} (self-attention), {recurrence} (recurrence), {feedforward} (feed-forward). The formula says 2, 1 and 1. Broken lines: the formula at {ns} ns a multiplication.",
    "N = {from}에서 {to}까지 걸린 시간은 N의 {attention}제곱(셀프 어텐션), {recurrence}제곱(순환), {feedforward}제곱(피드포워드)으로 늘었습니다. 식으로는 2, 1, 1입니다. 점선은 곱셈 하나에 {ns}ns가 든다고 보고 식으로 구한 값입니다.",
  ],
  ms: ["ms", "ms"],
} as const;
