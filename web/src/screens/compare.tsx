/** The compare screen. */
import { t } from "../i18n";
import "../styles/compare.css";

export function Compare() {
  return (
    <div class="screen compare">
      <header class="screen-head">
        <h1>{t("compare.title")}</h1>
      </header>
    </div>
  );
}
