/** The training screen. */
import { t } from "../i18n";
import "../styles/training.css";

export function Training() {
  return (
    <div class="screen training">
      <header class="screen-head">
        <h1>{t("training.title")}</h1>
      </header>
    </div>
  );
}
