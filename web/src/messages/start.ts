/** Words of the landing and of the tour. */
export const start = {
  title: ["Start here", "여기서 시작하세요"],
  purpose: [
    "See how a translation model reads: what each word of its answer looked at, number by number.",
    "번역 모델이 글을 읽는 법을 봅니다. 답의 단어마다 어디를 보았는지, 숫자 하나하나까지 보여 줍니다.",
  ],
  dates: [
    "These small models read a date in many languages and write it as ISO 8601. Change the date below and watch.",
    "이 작은 모델들은 여러 언어로 쓴 날짜를 읽어 ISO 8601로 옮깁니다. 아래 날짜를 바꿔 보세요.",
  ],
  text: ["Change the text below and watch.", "아래 글을 바꿔 보세요."],
  look: ["See it look", "어디를 보나"],
  break: ["Break it", "고장 내 보기"],
  learn: ["Learn", "배우기"],
  tour: ["Tour, 60 seconds", "60초 둘러보기"],
  step: ["{n} of {all}", "{all} 중 {n}"],
  next: ["Next", "다음"],
  back: ["Back", "이전"],
  leave: ["Leave the tour", "둘러보기 끝내기"],
  tour_text: [
    "You type on the left, the model answers on the right, one token after another.",
    "왼쪽에 글을 쓰면 모델이 오른쪽에 토큰을 하나씩 적습니다.",
  ],
  tour_look: [
    "The ribbons show where the chosen token of the answer looked. Point at any other token.",
    "띠는 고른 토큰이 원문의 어디를 보았는지 보여 줍니다. 다른 토큰도 가리켜 보세요.",
  ],
  tour_look_blind: [
    "This model has no attention. The ribbons show which words its answer depends on.",
    "이 모델에는 어텐션이 없습니다. 띠는 답이 어떤 단어에 기대는지 보여 줍니다.",
  ],
  tour_heads: [
    "Several heads look at once, each in its own way. A row is one token of the answer: the darker, the more it looked there.",
    "여러 헤드가 저마다 다르게 봅니다. 한 행이 답의 토큰 하나이고, 진할수록 그곳을 많이 본 것입니다.",
  ],
  tour_heads_blind: [
    "There are no heads to show here. Choose another model in the top bar to see some.",
    "여기에는 보여 줄 헤드가 없습니다. 위쪽 막대에서 다른 모델을 골라 보세요.",
  ],
  tour_inside: [
    "How one weight comes about, in six steps with this sentence’s own numbers. Press play.",
    "가중치 하나가 만들어지는 여섯 단계를 이 문장의 숫자로 봅니다. 재생을 눌러 보세요.",
  ],
  tour_inside_blind: [
    "How the model reads, step by step, with this sentence’s own numbers.",
    "모델이 읽는 과정을 이 문장의 숫자로 한 단계씩 봅니다.",
  ],
  tour_break: [
    "The heads that looked at the source last are silenced: compare the two answers above. Undo brings them back.",
    "마지막에 원문을 보던 헤드들을 껐습니다. 위의 두 답을 견주어 보세요. 실행 취소로 되돌립니다.",
  ],
  tour_break_blind: [
    "The one vector that holds the sentence is set to zero: compare the two answers above. Undo brings it back.",
    "문장을 담은 단 하나의 벡터를 0으로 만들었습니다. 위의 두 답을 견주어 보세요. 실행 취소로 되돌립니다.",
  ],
  tour_compare: [
    "One sentence, three architectures, side by side. The book in Learn explains each of them with figures like these.",
    "한 문장을 세 구조에 나란히 넣었습니다. 배우기의 책이 이런 그림으로 하나씩 설명합니다.",
  ],
} as const;
