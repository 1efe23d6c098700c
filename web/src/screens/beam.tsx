/** The beam screen. */
import { t } from "../i18n";
import "../styles/beam.css";

export function Beam() {
  return (
    <div class="screen beam">
      <header class="screen-head">
        <h1>{t("beam.title")}</h1>
      </header>
    </div>
  );
}
