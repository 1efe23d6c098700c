/** What a screen of one sentence shows without any: a word, and sentences to begin with. */
import { t } from "../i18n";
import { examples, model, seesPictures, setParams } from "../state";
import { PictureInput } from "./PictureInput";
import { Empty } from "./states";

export function NoText() {
  if (seesPictures.value)
    return (
      <Empty title={t("figure.choose_picture")}>
        <PictureInput />
      </Empty>
    );
  return (
    <Empty title={t("shell.sentence_hint")}>
      <div class="row">
        {examples.value.slice(0, 3).map((text) => (
          <button
            key={text}
            type="button"
            class="chip"
            lang={model.value?.source_language}
            onClick={() => setParams({ s: text }, { push: true })}
          >
            <bdi class="clip">{text}</bdi>
          </button>
        ))}
      </div>
    </Empty>
  );
}
