/** What the page shows when no model is loaded: three commands to copy. */
import { t } from "../i18n";
import { CommandList } from "./Commands";

export function FirstRun() {
  return (
    <div class="screen first">
      <header class="stack">
        <h1>{t("shell.first_title")}</h1>
        <p class="muted">{t("shell.first_text")}</p>
      </header>
      <div class="card">
        <CommandList
          commands={[
            [t("shell.first_demo"), "jumok demo"],
            [t("shell.first_train"), "jumok train settings.toml"],
            [t("shell.first_serve"), "jumok serve runs/my-model --runs runs"],
          ]}
        />
      </div>
    </div>
  );
}
