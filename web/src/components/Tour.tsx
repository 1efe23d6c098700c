/** The tour of a minute: one sentence on each screen it passes, to be left at any point. */
import { embedded } from "../embedded";
import { t } from "../i18n";
import { STEPS, stepOf, stopOf } from "../lib/tour";
import { go, href, model, params, setParams } from "../state";
import { Button, IconButton } from "./controls";
import { Link } from "./Link";

export function startTour(): void {
  to(0);
}

function to(n: number): void {
  const { screen, patch } = stopOf(n, model.value!);
  go(screen, patch);
}

const END = { tour: null, w: null, pin: null, q: null };

export function Tour() {
  const at = stepOf(params.value.tour);
  const card = model.value;
  if (at === null || !card || embedded) return null;
  const blind = STEPS[at] !== "text" && STEPS[at] !== "compare" && !card.kinds.cross;
  return (
    <aside class="lesson tour" aria-label={t("start.tour")}>
      <span class="badge">{t("start.step", { n: at + 1, all: STEPS.length })}</span>
      <p aria-live="polite">{t(blind ? (`start.tour_${STEPS[at]}_blind` as "start.tour_look_blind") : `start.tour_${STEPS[at]}`)}</p>
      {at > 0 && (
        <Button kind="quiet" onClick={() => to(at - 1)}>
          {t("start.back")}
        </Button>
      )}
      {at < STEPS.length - 1 ? (
        <Button kind="primary" onClick={() => to(at + 1)}>
          {t("start.next")}
        </Button>
      ) : (
        <Link class="btn primary" href={href("learn", END)}>
          {t("start.learn")}
        </Link>
      )}
      <IconButton icon="close" label={t("start.leave")} onClick={() => setParams(END, { push: true })} />
    </aside>
  );
}
