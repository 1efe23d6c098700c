/** Words of the figure of shifted positions. */
export const shiftedPositions = {
  title: ["The same dates, further along", "같은 날짜를 더 뒤의 위치에서"],
  ask: [
    "Every token gets the position row of 20 places further on; all distances stay as they are. How many of these {all} will the model still read right?",
    "토큰마다 20자리 뒤의 위치 행을 받습니다. 토큰 사이의 거리는 모두 그대로입니다. 이 {all}개 가운데 몇 개를 여전히 맞게 읽을까요?",
  ],
  all: ["all of them", "모두"],
  half: ["about half", "절반쯤"],
  few: ["few or none", "거의 없음"],
  why: ["{right} of {all}.", "{all}개 중 {right}개입니다."],
  by: ["Shift by", "옮기는 자리 수"],
  again: ["Other dates", "다른 날짜로"],
  text: ["source", "원문"],
  answer: ["answer", "답"],
  right_of: ["{right} of {all} are right at a shift of {by}.", "{by}자리 옮겼을 때 {all}개 중 {right}개가 맞습니다."],
  kept_of: [
    "{right} of {all} answers are as without a shift, at a shift of {by}.",
    "{by}자리 옮겼을 때 {all}개 중 {right}개의 답이 옮기지 않았을 때와 같습니다.",
  ],
  right: ["right", "맞음"],
  wrong: ["wrong", "틀림"],
  curve: ["Exact match by shift, per cent", "옮긴 자리 수에 따른 완전 일치(%)"],
  stored: ["the bundled model on {n} test dates", "들어 있는 모델, 시험 날짜 {n}개"],
  live: ["these dates, measured now", "이 날짜들, 지금 잰 값"],
  caption: [
    "The line was measured once, with python benchmarks/shifted_positions.py; the dots come from the model while you move the slider.",
    "선은 python benchmarks/shifted_positions.py로 미리 재 둔 것이고, 점은 슬라이더를 움직이는 동안 모델이 계산한 것입니다.",
  ],
  none: ["This model has no positions to shift.", "이 모델에는 옮길 위치가 없습니다."],
  relative: [
    "This model’s positions are relative: scores know distances alone, so a shift changes nothing at all.",
    "이 모델의 위치는 상대 위치입니다. 점수는 거리만 알기 때문에 모두 옮겨도 아무것도 달라지지 않습니다.",
  ],
  rotary: [
    "This model’s positions are rotary: products of queries and keys depend on distances alone, so a shift changes nothing but rounding.",
    "이 모델은 회전 위치를 씁니다. 쿼리와 키의 내적이 거리에만 달려 있으므로, 옮겨도 반올림 오차 말고는 달라지지 않습니다.",
  ],
} as const;
