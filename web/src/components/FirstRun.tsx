/** What the page shows when no model is loaded: three commands to copy. */
import { t, type MessageKey } from "../i18n";
import { IconButton } from "./controls";
import { toast } from "./states";

const COMMANDS: readonly (readonly [MessageKey, string])[] = [
  ["shell.first_demo", "jumok demo"],
  ["shell.first_train", "jumok train settings.toml"],
  ["shell.first_serve", "jumok serve runs/my-model --runs runs"],
];

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function FirstRun() {
  const copy = async (text: string) => {
    await copyText(text);
    toast(t("shell.copied"));
  };
  return (
    <div class="screen first">
      <header class="stack">
        <h1>{t("shell.first_title")}</h1>
        <p class="muted">{t("shell.first_text")}</p>
      </header>
      <ol class="stack">
        {COMMANDS.map(([text, command]) => (
          <li key={command} class="card">
            <p class="small muted">{t(text)}</p>
            <div class="row between">
              <code>{command}</code>
              <IconButton icon="copy" label={t("shell.copy")} onClick={() => void copy(command)} />
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}
