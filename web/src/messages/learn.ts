/** Words of the Learn screen; its chapters are in learn.json. */
export const learn = {
  title: ["Learn", "배우기"],
  chapters: ["Chapters", "장"],
  chapter: ["Chapter {n} of {all}", "{all}장 중 {n}장"],
  try: ["Try it", "해 보기"],
  next: ["Next:", "다음:"],
  back: ["Back to chapter {n}", "{n}장으로 돌아가기"],
  no_model: ["Needs a model that is not loaded: {arch}", "필요한 모델이 없습니다: {arch}"],
  two_models: ["two or more", "둘 이상"],
} as const;
