/** Words of the figure from an id to the first vector. */
export const embeddingRow = {
  title: ["From an id to a vector", "토큰 번호에서 벡터까지"],
  ask: [
    "“{token}” stands at places {a} and {b} of this sentence. When are the two vectors equal?",
    "이 문장의 {a}번째와 {b}번째 토큰은 모두 ‘{token}’입니다. 두 벡터는 언제 같을까요?",
  ],
  never: ["never", "언제나 다름"],
  before_only: ["only before positions are added", "위치를 더하기 전에만 같음"],
  both: ["before and after", "더하기 전에도 후에도 같음"],
  why: [
    "They lie {before} apart before positions are added, and {after} after: the position is all that tells them apart.",
    "둘 사이의 거리는 위치를 더하기 전 {before}, 더한 뒤 {after}입니다. 둘을 가르는 것은 위치뿐입니다.",
  ],
  note_lookup: [
    "The row of the table that the id names, times √D = {scale}. No sum is needed: the other rows would be multiplied by 0.",
    "토큰 번호가 가리키는 표의 행에 √D를 곱합니다(√D = {scale}). 다른 행에는 0이 곱해지므로 더할 것이 없습니다.",
  ],
  note_positions: [
    "The row of the place: the same for every sentence, whatever stands there.",
    "그 자리의 행입니다. 무엇이 놓이든, 어느 문장이든 같습니다.",
  ],
  note_sum: [
    "Both, added number by number: what and where in one vector. The first layer reads this.",
    "둘을 같은 자리의 수끼리 더합니다. 무엇이 어디에 있는지가 한 벡터에 담기고, 첫 층이 이것을 읽습니다.",
  ],
  one_hot: [
    "“{token}” has id {id}: as a one-hot vector of {vocab} numbers a 1 at place {id} and {zeros} zeros.",
    "‘{token}’의 번호는 {id}입니다. 수 {vocab}개짜리 원-핫 벡터로 쓰면 {id}번 자리만 1이고 나머지 {zeros}개는 0입니다.",
  ],
  no_positions: [
    "This model adds no positions here: it turns queries and keys inside attention instead, or knows no order at all.",
    "이 모델은 여기서 위치를 더하지 않습니다. 어텐션 안에서 쿼리와 키를 돌리거나, 순서를 아예 모릅니다.",
  ],
} as const;
