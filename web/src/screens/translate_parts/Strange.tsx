/** What is wrong with a text that the model cannot know, or with an answer that is none: said, not left to guess. */
import type { Manifest } from "../../api-types";
import { Icon } from "../../components/Icon";
import { t } from "../../i18n";
import { readsDates } from "../../lib/dates";
import { fixed, percent } from "../../lib/format";
import { unseen, unsure } from "../../lib/tokens";
import { model, ops } from "../../state";

/** From this share of characters on, the model reads too little of a text to say anything about it. */
const MUCH = 0.25;

export function Strange({ manifest }: { manifest: Manifest }) {
  const { unseen: strange, all, examples } = unseen(manifest.source);
  const unknown = all > 0 && strange / all >= MUCH;
  // characters that are not known say more, and their pairs are new as well
  const novel = !unknown && manifest.source.novelty?.strange ? manifest.source.novelty : null;
  const empty = manifest.target.text.trim() === "";
  const low = ops.value.length > 0 ? null : unsure(manifest.decode, model.value?.lowest_score ?? null);
  if (!unknown && !novel && !empty && low === null) return null;
  const sure = Math.exp(manifest.steps[0]?.logprob ?? 0);
  return (
    <div class="banner strange" role="status">
      <Icon name="alert" size={18} />
      <p class="grow">
        {empty && `${t("translate.nothing", { share: percent(sure) })} `}
        {unknown && (
          <>
            {t("translate.strange", { n: strange, all })} <bdi lang={manifest.source.lang}>{examples.join(" ")}</bdi>
            {". "}
          </>
        )}
        {novel && `${t("translate.novel", { n: novel.unseen, all: novel.pairs })} `}
        {low !== null && `${t("translate.unsure", { score: fixed(manifest.decode.score_per_token ?? 0, 2), low: fixed(low, 2) })} `}
        {readsDates(model.value)
          ? t("translate.strange_dates")
          : unknown
            ? t("translate.strange_text")
            : novel
              ? t("translate.novel_text")
              : ""}
      </p>
    </div>
  );
}
