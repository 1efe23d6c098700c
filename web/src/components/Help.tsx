/** The list of keys. */
import { useEffect, useRef } from "preact/hooks";
import { t, type MessageKey } from "../i18n";
import { helpOpen } from "../keys";
import { IconButton } from "./controls";

const KEYS: readonly (readonly [string, MessageKey])[] = [
  ["/", "shell.key_input"],
  ["g t o h a i c b r q l", "shell.key_go"],
  ["m", "shell.key_model"],
  ["w", "shell.key_whatif"],
  ["0", "shell.key_reset"],
  ["x", "shell.key_swap"],
  ["T", "shell.key_table"],
  ["e", "shell.key_export"],
  ["l", "shell.key_link"],
  [", .", "shell.key_step"],
  ["← ↑ → ↓", "shell.key_grid"],
  ["PgUp PgDn", "shell.key_layer"],
  ["[ ]", "shell.key_head"],
  ["Enter Esc", "shell.key_lock"],
  ["?", "shell.key_help"],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpOpen.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      class="dialog stack"
      aria-label={t("shell.keys_title")}
      onClose={() => (helpOpen.value = false)}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="row between">
        <h2>{t("shell.keys_title")}</h2>
        <IconButton icon="close" label={t("shell.close")} onClick={() => dialog.current?.close()} />
      </div>
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
