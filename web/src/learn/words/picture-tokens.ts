/** Words of the figure that turns a picture into tokens. */
export const pictureTokens = {
  title: ["From a picture to tokens", "이미지에서 토큰으로"],
  patch: ["Side of a patch", "패치 한 변"],
  pixels: ["{n} px", "{n}픽셀"],
  choose: ["Your own picture", "내 이미지"],
  ours: ["Back to the drawing", "원래 그림으로"],
  bad: ["This file is no picture that the browser can read.", "브라우저가 읽을 수 있는 이미지가 아닙니다."],
  picture: ["The picture of {side} × {side} pixels, cut into patches", "패치로 자른 {side} × {side}픽셀 이미지"],
  pick: [
    "Point at a patch, or choose it with the arrow keys. Patch {n} of {all}: row {row}, column {column}.",
    "패치를 가리키거나 화살표 키로 고르세요. {all}개 중 {n}번째 패치, {row}행 {column}열입니다.",
  ],
  flat: ["flattened, x: {n} numbers", "펼친 것, x: 수 {n}개"],
  projected: ["x W: {n} numbers", "x W: 수 {n}개"],
  place: ["+ place: {n} numbers", "+ 위치: 수 {n}개"],
  token: ["= token: {n} numbers", "= 토큰: 수 {n}개"],
  matrix: [
    "W has {numbers} × {width} numbers, drawn at random here; training finds better ones. Every patch goes through the same W.",
    "W에는 수가 {numbers} × {width}개 있고 여기서는 무작위로 뽑았습니다. 학습이 더 나은 수를 찾습니다. 모든 패치가 같은 W를 지납니다.",
  ],
  own_places: ["The rows of places are those that “{model}” has learned.", "위치 행은 ‘{model}’ 모델이 학습한 것입니다."],
  no_model: [
    "No model that reads pictures is loaded, so this is as far as it goes: jumok train --data emoji-captions makes one.",
    "이미지를 읽는 모델이 열려 있지 않으므로 여기까지입니다. jumok train --data emoji-captions로 만들 수 있습니다.",
  ],
  model: ["What “{model}” makes of it", "‘{model}’ 모델이 보는 것"],
  writes: ["Tokens it writes", "모델이 쓰는 토큰"],
  looks: ["where it looks while it writes “{token}”", "‘{token}’ 토큰을 쓰는 동안 보는 곳"],
  none: ["It writes nothing.", "아무것도 쓰지 않습니다."],
} as const;
