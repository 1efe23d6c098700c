/** Words of the Learn screen; its chapters are in learn.json. */
export const learn = {
  en: {
    title: "Learn",
    chapters: "Chapters",
    chapter: "Chapter {n} of {all}",
    try: "Try it",
    next: "Next:",
    back: "Back to chapter {n}",
    no_model: "Needs a model that is not loaded: {arch}",
    two_models: "two or more",
  },
  ko: {
    title: "배우기",
    chapters: "장",
    chapter: "{all}장 중 {n}장",
    try: "해 보기",
    next: "다음:",
    back: "{n}장으로 돌아가기",
    no_model: "필요한 모델이 없습니다: {arch}",
    two_models: "둘 이상",
  },
};
