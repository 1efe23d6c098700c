/** Words about the book outside of it; its own are in learn/words, its chapters in learn/chapters. */
export const learn = {
  title: ["Learn", "배우기"],
  back: ["Back to “{title}”", "‘{title}’ 장으로 돌아가기"],
} as const;
