/** Words of the API reference. */
export const docs = {
  title: ["API", "API"],
  intro: [
    "Everything this page shows comes from these calls. They take and give JSON; errors are problem documents with a stable code.",
    "이 화면에 보이는 모든 것은 아래 호출에서 옵니다. JSON을 주고받으며, 오류는 변하지 않는 코드가 담긴 문서로 알려 줍니다.",
  ],
  file: ["openapi.json", "openapi.json"],
  empty: ["The server describes no calls", "서버가 설명하는 호출이 없습니다"],
  tag_models: ["Models", "모델"],
  tag_translate: ["Translation", "번역"],
  tag_traces: ["Traces", "기록"],
  tag_what_if: ["What if", "만약에"],
  tag_compare: ["Comparison", "비교"],
  tag_runs: ["Training runs and evaluations", "학습과 평가"],
  tag_libretranslate: ["LibreTranslate form", "LibreTranslate 형식"],
  tag_operations: ["Operations", "운영"],
  example: ["Example", "예"],
  fields: ["Fields", "필드"],
  answer: ["Answer", "응답"],
  errors: ["Errors", "오류"],
  required: ["required", "필수"],
  default: ["Default {value}.", "기본값 {value}."],
} as const;
