/** The docs screen. */
import { t } from "../i18n";
import "../styles/docs.css";

export function Docs() {
  return (
    <div class="screen docs">
      <header class="screen-head">
        <h1>{t("docs.title")}</h1>
      </header>
    </div>
  );
}
