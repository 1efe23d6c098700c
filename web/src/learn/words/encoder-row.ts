/** Words of the figure of one encoder layer. */
export const encoderRow = {
  title: ["One token through one encoder layer", "토큰 하나가 인코더 한 층을 지나는 길"],
  ask: [
    "In the feed-forward network the row of “{token}” becomes {n} numbers, and max(0, ·) sets those below 0 to 0. How many will be 0?",
    "피드포워드에서 ‘{token}’의 행은 수 {n}개가 되고, max(0, ·)가 0보다 작은 수를 0으로 만듭니다. 얼마나 많은 수가 0이 될까요?",
  ],
  none: ["hardly any", "거의 없음"],
  quarter: ["about a quarter", "4분의 1쯤"],
  half: ["about half", "절반쯤"],
  most: ["about three quarters", "4분의 3쯤"],
  all: ["nearly all", "거의 전부"],
  why: [
    "{zeros} of {n}, {share}. Which ones differs from token to token: that is how one network does different things to them.",
    "{n}개 가운데 {zeros}개, {share}입니다. 어느 것이 0인지는 토큰마다 다르고, 그래서 신경망 하나가 토큰마다 다른 일을 합니다.",
  ],
  no_norm: ["This model has no norms.", "이 모델에는 정규화가 없습니다."],
} as const;
