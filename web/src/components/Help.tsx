/** Help: what the screens show, the tour, and the list of keys. */
import { useEffect, useRef } from "preact/hooks";
import { t, type MessageKey } from "../i18n";
import { helpOpen } from "../keys";
import { embedded } from "../embedded";
import { hasScreen } from "../local/site";
import { screens } from "../screens";
import { go, model, teachOpen } from "../state";
import { IconButton } from "./controls";
import { startTour } from "./Tour";

const KEYS: readonly (readonly [string, MessageKey])[] = [
  ["/", "shell.key_input"],
  ["g t o h a i c b r q l", "shell.key_go"],
  ["m", "shell.key_model"],
  ["w", "shell.key_whatif"],
  ["Ctrl+Z Ctrl+Y", "shell.key_undo"],
  ["0", "shell.key_reset"],
  ["x", "shell.key_swap"],
  ["T", "shell.key_table"],
  ["e", "shell.key_export"],
  ["l", "shell.key_link"],
  [", .", "shell.key_step"],
  ["← ↑ → ↓", "shell.key_grid"],
  ["PgUp PgDn", "shell.key_layer"],
  ["[ ]", "shell.key_head"],
  ["s", "shell.key_silence"],
  ["Enter Esc", "shell.key_lock"],
  ["?", "shell.key_help"],
];

const SHOWN = ["translate", "documents", "map", "attention", "inside", "compare", "beam", "training", "quality", "learn"] as const;

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpOpen.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  const leave = (then: () => void) => {
    dialog.current?.close();
    then();
  };
  return (
    <dialog
      ref={dialog}
      class="dialog stack"
      aria-label={t("shell.help_title")}
      onClose={() => (helpOpen.value = false)}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="row between">
        <h2>{t("shell.help_title")}</h2>
        <IconButton icon="close" label={t("shell.close")} onClick={() => dialog.current?.close()} />
      </div>
      {!embedded && model.value && (
        <div class="row">
          <button type="button" class="btn primary" onClick={() => leave(startTour)}>
            {t("start.tour")}
          </button>
          <button type="button" class="btn" onClick={() => leave(() => go("learn"))}>
            {t("start.learn")}
          </button>
          <button type="button" class="btn" onClick={() => leave(() => (teachOpen.value = true))}>
            {t("teach.title")}
          </button>
        </div>
      )}
      <h3>{t("shell.help_screens")}</h3>
      <dl>
        {SHOWN.filter((name) => hasScreen(name) && (!embedded || screens[name].looks)).map((name) => (
          <>
            <dt>{t(`shell.screen_${name}`)}</dt>
            <dd>{t(`shell.help_${name}`)}</dd>
          </>
        ))}
      </dl>
      <h3>{t("shell.keys_title")}</h3>
      <dl>
        {KEYS.map(([keys, text]) => (
          <>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{t(text)}</dd>
          </>
        ))}
      </dl>
    </dialog>
  );
}
