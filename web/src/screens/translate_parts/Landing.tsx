/** What a first visit sees above the text: one sentence of purpose and three ways to begin. */
import { useState } from "preact/hooks";
import { IconButton } from "../../components/controls";
import { Link } from "../../components/Link";
import { startTour } from "../../components/Tour";
import { embedded } from "../../embedded";
import { t } from "../../i18n";
import { readsDates } from "../../lib/dates";
import { encodeOps } from "../../lib/link";
import { breaking } from "../../lib/tour";
import { href, model, params } from "../../state";
import { remember, remembered } from "../../storage";

/** Parameters that say what to show; with any of them someone has come by a link or has begun already. */
const BEGUN = ["s", "w", "t", "px", "q", "j", "tour", "le", "f", "teach"];

export function Landing() {
  const [closed, setClosed] = useState(remembered("landing") === "closed");
  const card = model.value!;
  if (closed || embedded || card.source === "image" || BEGUN.some((name) => params.value[name] !== undefined)) return null;
  const close = () => {
    remember("landing", "closed");
    setClosed(true);
  };
  const looks = card.kinds.cross !== undefined;
  return (
    <section class="landing" aria-label={t("start.title")}>
      <div class="grow">
        <p class="landing-purpose">{t("start.purpose")}</p>
        <p class="small muted">{readsDates(card) ? t("start.dates") : t("start.text")}</p>
      </div>
      <div class="row">
        <Link class="btn primary" href={href(looks ? "attention" : "translate", looks ? {} : { q: 0 })}>
          {t("start.look")}
        </Link>
        <Link class="btn" href={href("translate", { w: encodeOps([breaking(card)]), pin: "edit" })}>
          {t("start.break")}
        </Link>
        <Link class="btn" href={href("learn")}>
          {t("start.learn")}
        </Link>
        <button type="button" class="btn quiet" onClick={startTour}>
          {t("start.tour")}
        </button>
      </div>
      <IconButton icon="close" label={t("shell.close")} onClick={close} />
    </section>
  );
}
