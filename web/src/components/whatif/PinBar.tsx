/** Baseline and edit side by side above any screen; the chosen one is what the screen draws. */
import { t } from "../../i18n";
import { ops, params, setParams } from "../../state";
import { IconButton } from "../controls";
import { useWhatIf } from "./answer";
import { Marked } from "./Outcome";

export function PinBar() {
  const { pin } = params.value;
  return pin !== undefined && ops.value.length > 0 ? <Pinned base={pin === "base"} /> : null;
}

function Pinned({ base }: { base: boolean }) {
  const { value } = useWhatIf();
  const side = (kind: "before" | "after", on: boolean) => (
    <button
      type="button"
      role="radio"
      aria-checked={on}
      class="pin-side"
      onClick={() => setParams({ pin: kind === "before" ? "base" : "edit" })}
    >
      <small>{kind === "before" ? t("whatif.before") : t("whatif.after_n", { n: ops.value.length })}</small>
      {value && (
        <Marked
          text={value[kind === "before" ? "baseline" : "edited"].text}
          other={value[kind === "before" ? "edited" : "baseline"].text}
          kind={kind}
        />
      )}
    </button>
  );
  return (
    <div class="card pinbar" role="radiogroup" aria-label={t("whatif.pin")}>
      {side("before", base)}
      {side("after", !base)}
      <IconButton icon="close" label={t("whatif.unpin")} onClick={() => setParams({ pin: null })} />
    </div>
  );
}
