/** The What-if drawer: active interventions and what they change. */
import { t } from "../i18n";
import "../styles/whatif.css";

export function WhatIf() {
  return <h2>{t("whatif.title")}</h2>;
}
