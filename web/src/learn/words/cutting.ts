/** Words of the figure that cuts a text into tokens. */
export const cutting = {
  title: ["From text to ids", "글에서 번호로"],
  ask: ["How many ids will the model get for “{text}”, with the end sign?", "‘{text}’ 문장은 끝 표시까지 번호 몇 개가 될까요?"],
  why: ["Change the text below and watch how it is cut.", "아래 글을 바꾸며 어떻게 나뉘는지 보세요."],
  text: ["Your text", "글"],
  tokens: ["Tokens with their ids", "토큰과 번호"],
  token: ["token", "토큰"],
  id: ["id", "번호"],
  count: ["{n} {n:token|tokens} from {characters} {characters:character|characters}", "글자 {characters}개에서 토큰 {n}개"],
  empty: ["Write something to see its tokens.", "글을 쓰면 토큰이 나옵니다."],
} as const;
