/** A word that a person would probably change, with a dotted line. */
import type { ComponentChildren } from "preact";
import { t } from "../i18n";
import { percent } from "../lib/format";

export const Doubted = ({ change, children }: { change: number; children: ComponentChildren }) => (
  <span class="doubted" title={t("translate.doubt", { share: percent(change) })}>
    {children}
  </span>
);
