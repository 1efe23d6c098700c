/** How far a document is: a bar and a line of words. */
import type { DocumentOut } from "../../api-types";
import { t } from "../../i18n";
import { waitOf } from "../../lib/sizes";

export function Meter({ of: { done, total } }: { of: DocumentOut }) {
  return (
    <progress
      class="documents-meter"
      aria-label={t("documents.progress")}
      max={Math.max(total ?? 1, 1)}
      value={total === null ? undefined : done}
    />
  );
}

export function progressText({ status, done, total, seconds_left, counts }: DocumentOut): string {
  if (status === "waiting") return "";
  if (total === null) return status === "running" ? t("documents.reading") : "";
  const parts = [t("documents.so_far", { done, total })];
  if (seconds_left !== null && status === "running") {
    const { n, unit } = waitOf(seconds_left);
    parts.push(t("documents.left", { time: t(`documents.time_${unit}`, { n }) }));
  }
  if (counts.edited > 0) parts.push(t("documents.edited_n", { n: counts.edited }));
  return parts.join(" · ");
}
