/** Above every screen of a changed model: what is changed, what became of the answer, and the way back and on. */
import { t } from "../../i18n";
import { embedded } from "../../embedded";
import { useTrace } from "../../hooks";
import type { Op } from "../../lib/interventions";
import { ops, params, setOps, whatIfOpen } from "../../state";
import { Icon } from "../Icon";
import { Button } from "../controls";
import { useWhatIf } from "./answer";
import { Marked } from "./Outcome";
import { future, redo, undo } from "./steps";
import { opDetails, opName } from "./words";

export function EditBar() {
  const list = ops.value;
  const last = list[list.length - 1];
  const back = future.value.length > 0;
  if (!(last || back) || embedded || whatIfOpen.value || params.value.pin === "base") return null;
  return (
    <div class="edit-bar" role="group" aria-label={last ? t("whatif.after_n", { n: list.length }) : t("whatif.undone")}>
      <Icon name="whatif" size={18} />
      <p class="grow">
        {list.length > 1 && <b>{t("whatif.after_n", { n: list.length })}: </b>}
        {last ? <Change op={last} /> : t("whatif.undone")}
        {last && params.value.pin === undefined && <Answers />}
      </p>
      {last && <Button onClick={undo}>{t("whatif.undo")}</Button>}
      {back && <Button onClick={redo}>{t("whatif.redo")}</Button>}
      {list.length > 1 && (
        <Button kind="quiet" onClick={() => setOps([])}>
          {t("whatif.reset")}
        </Button>
      )}
    </div>
  );
}

/** A change in words, with the tokens that it is about. */
function Change({ op }: { op: Op }) {
  const { value } = useTrace();
  return <bdi>{`${opName(op.op)}. ${opDetails(op, value)}`}</bdi>;
}

/** The answer as it was and as it is now, or that it is the same. */
function Answers() {
  const { value, status } = useWhatIf();
  if (!value) return null;
  const { baseline, edited } = value;
  return (
    <span class={status === "loading" ? "edit-answers stale" : "edit-answers"}>
      {baseline.text === edited.text ? (
        t("whatif.answer_same")
      ) : (
        <>
          <Marked text={baseline.text} other={edited.text} kind="before" /> →{" "}
          <Marked text={edited.text} other={baseline.text} kind="after" />
        </>
      )}
    </span>
  );
}
