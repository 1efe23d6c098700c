/** Words of the figure of the three masks. */
export const threeMasks = {
  title: ["Who may look at whom", "누가 누구를 볼 수 있을까요"],
  family: ["Family", "계열"],
  encoder: ["encoder only", "인코더만"],
  decoder: ["decoder only", "디코더만"],
  both: ["both", "둘 다"],
  for_encoder: [
    "Every token sees every other, those to its right too. For understanding: classify, tag, search (BERT, ViT). It cannot write, since it has seen what it would have to guess.",
    "모든 토큰이 오른쪽까지 서로를 다 봅니다. 분류, 태깅, 검색처럼 이해하는 데 씁니다(BERT, ViT). 맞혀야 할 것을 이미 보았으므로 글을 쓰지는 못합니다.",
  ],
  for_decoder: [
    "Every token sees itself and what came before. For writing: a text goes on and on (GPT). A source is simply the beginning of the text, and its tokens cannot look ahead either.",
    "모든 토큰이 자기 자신과 앞의 토큰만 봅니다. 글을 계속 이어서 쓰는 데 씁니다(GPT). 원문도 글의 앞부분일 뿐이어서, 그 토큰들도 뒤에 올 것을 보지 못합니다.",
  ],
  for_both: [
    "The source sees all of itself, the target the whole source and its own past. For turning one text into another: translate, summarise, describe (T5, and the models here).",
    "원문은 자기 전체를 보고, 번역문은 원문 전체와 이미 쓴 자기 앞부분을 봅니다. 번역, 요약, 설명처럼 한 글을 다른 글로 바꾸는 데 씁니다(T5, 그리고 여기 있는 모델).",
  ],
  sees: [
    "“{token}” sees {n} of {all} tokens. Pairs in all: {pairs}.",
    "‘{token}’ 토큰은 {all}개 중 {n}개를 봅니다. 쌍은 모두 {pairs}개입니다.",
  ],
  row: ["Token", "토큰"],
  real_both: [
    "Hatched: not allowed. Colours: weights of layer {layer}, head {head} of “{model}”: top left the encoder’s self-attention, bottom left cross-attention, bottom right the decoder’s masked self-attention.",
    "빗금은 볼 수 없는 칸입니다. 색은 ‘{model}’ 모델의 {layer}층 {head}번 헤드의 가중치로, 왼쪽 위는 인코더의 셀프 어텐션, 왼쪽 아래는 크로스 어텐션, 오른쪽 아래는 디코더의 마스크드 셀프 어텐션입니다.",
  ],
  real_encoder: [
    "Nothing is hatched. Colours where the model at hand has such weights: its encoder’s self-attention, which has no mask (above the diagonal up to {above}).",
    "빗금이 없습니다. 색은 지금 모델에 그런 가중치가 있는 곳입니다. 마스크가 없는 인코더의 셀프 어텐션으로, 대각선 위에도 {above}까지 있습니다.",
  ],
  real_decoder: [
    "Hatched: what comes later. Colours where the model at hand has such weights: its decoder’s masked self-attention, {above} above the diagonal.",
    "빗금은 뒤에 오는 것입니다. 색은 지금 모델에 그런 가중치가 있는 곳입니다. 디코더의 마스크드 셀프 어텐션으로, 대각선 위는 {above}입니다.",
  ],
} as const;
