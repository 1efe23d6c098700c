/** Words of line charts. */
export const chart = {
  help: [
    "Left and right move the cursor, Home and End jump to the ends, Escape takes it away.",
    "왼쪽·오른쪽 화살표로 커서를 옮기고, Home과 End로 양 끝으로 가며, Esc로 없앱니다.",
  ],
  help_pick: [
    "Left and right move the cursor, Enter chooses, Escape takes it away.",
    "왼쪽·오른쪽 화살표로 커서를 옮기고, Enter로 고르며, Esc로 없앱니다.",
  ],
  said: ["{x}: {values}", "{x}: {values}"],
  value: ["{line} {value}", "{line} {value}"],
  interval: ["{value} ({low} to {high})", "{value} ({low}~{high})"],
  thin: ["little data", "자료 적음"],
  empty: ["Nothing to draw yet", "아직 그릴 것이 없습니다"],
  low: ["{line}, low", "{line}, 하한"],
  high: ["{line}, high", "{line}, 상한"],
  raw: ["{line}, raw", "{line}, 원래 값"],
} as const;
