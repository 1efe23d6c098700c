/** Words for a class: the path, its questions, and the panel that makes the link. */
export const teach = {
  title: ["For a class", "수업용"],
  about: [
    "Go to a view, add it, and write a question. The link opens them in this order, in large type; model, sentence and screen are fixed, and everything else can be tried.",
    "보여 줄 화면으로 가서 추가하고 질문을 적으세요. 링크를 열면 이 순서대로 큰 글씨로 나옵니다. 모델과 문장, 화면은 고정되고 나머지는 마음껏 해 볼 수 있습니다.",
  ],
  name: ["Title", "제목"],
  add: ["Add this view", "이 화면 추가"],
  question: ["Question", "질문"],
  answer: ["Answer, shown when asked for", "답(펼쳐야 보임)"],
  up: ["Earlier", "앞으로"],
  remove: ["Remove", "빼기"],
  copy: ["Copy the link for the class", "수업 링크 복사"],
  start: ["Start", "시작"],
  none: ["No view yet.", "아직 화면이 없습니다."],
  static: [
    "The link works wherever this page is served. For a class without a server, make a folder with jumok site, put it on any host, and make the link there.",
    "링크는 이 페이지가 있는 곳이면 어디서나 열립니다. 서버 없이 하려면 jumok site로 폴더를 만들어 아무 호스트에나 올리고 거기서 링크를 만드세요.",
  ],
  step: ["Step {n} of {all}", "{all}단계 중 {n}단계"],
  back: ["Back", "이전"],
  next: ["Next", "다음"],
  free: ["Go on by yourself", "이제 자유롭게 보기"],
  reveal: ["Show the answer", "답 보기"],
  bad: ["The path in this link cannot be read.", "이 링크의 수업 경로를 읽을 수 없습니다."],
  embed: ["Copy code to embed this figure", "이 그림을 넣을 코드 복사"],
} as const;
