/** The quality screen. */
import { t } from "../i18n";
import "../styles/quality.css";

export function Quality() {
  return (
    <div class="screen quality">
      <header class="screen-head">
        <h1>{t("quality.title")}</h1>
      </header>
    </div>
  );
}
