/** The inside screen. */
import { t } from "../i18n";
import "../styles/inside.css";

export function Inside() {
  return (
    <div class="screen inside">
      <header class="screen-head">
        <h1>{t("inside.title")}</h1>
      </header>
    </div>
  );
}
