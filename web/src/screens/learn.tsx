/** The learn screen. */
import { t } from "../i18n";
import "../styles/learn.css";

export function Learn() {
  return (
    <div class="screen learn">
      <header class="screen-head">
        <h1>{t("learn.title")}</h1>
      </header>
    </div>
  );
}
