/** Entries of the export menu for a picture that belongs to a trace: tensors, alignments, manifest, the one-file page. */
import { getHtml, getTensors } from "../api";
import type { Manifest } from "../api-types";
import { embedded } from "../embedded";
import { ApiError } from "../errors";
import { download } from "../export";
import { t } from "../i18n";
import { local } from "../local/site";
import { nematus, pharaoh, wordWeights } from "../lib/align";
import { combine, matrix, type Matrix } from "../lib/matrix";
import { startingAt } from "../lib/link";
import { lastLayer } from "../lib/needs";
import { writeSafetensors } from "../lib/safetensors";
import { exportedView } from "../state";
import type { MenuItem } from "./Popover";
import { problemText } from "./states";
import { toast } from "./toasts";

/** `needs` are the tensors of the selection on show; those of cross-attention weights also give the alignment. */
export function traceExports(manifest: Manifest, needs: readonly string[] = []): MenuItem[] {
  const chosen = needs.filter((need) => /^cross\.weights:/.test(need));
  const heads = chosen.length > 0 ? chosen : lastLayer(manifest.model.kinds.cross);
  const align = (ending: string, write: (weights: Matrix) => string) => () =>
    trying(async () => {
      const found = [...(await getTensors(manifest.id, heads)).values()];
      const mean = combine(
        found.map(({ shape, data }) => matrix(shape[0], shape[1], data as Float32Array)),
        "mean",
      );
      download(`${manifest.id}.${ending}`, "text/plain", write(wordWeights(mean, manifest.source, manifest.target)));
    });
  const items: MenuItem[] = [];
  if (needs.length > 0)
    items.push({
      label: t("figure.safetensors"),
      onSelect: () =>
        trying(async () =>
          download(
            `${manifest.id}.safetensors`,
            "application/octet-stream",
            new Blob([writeSafetensors(await getTensors(manifest.id, needs))]),
          ),
        ),
    });
  if (heads.length > 0) {
    items.push({ label: t("figure.pharaoh"), onSelect: align("align", (weights) => pharaoh(weights) + "\n") });
    items.push({
      label: t("figure.nematus"),
      onSelect: align("nematus", (weights) => nematus(weights, manifest.source, manifest.target, manifest.decode.score ?? 0)),
    });
  }
  items.push({
    label: t("figure.json"),
    onSelect: () => download(`${manifest.id}.json`, "application/json", JSON.stringify(manifest, null, 2)),
  });
  if (!embedded && !local)
    items.push({
      label: t("figure.html"),
      onSelect: () => {
        const view = exportedView();
        trying(async () => download(`${manifest.id}.html`, "text/html", startingAt(await (await getHtml(manifest.id)).text(), view)));
      },
    });
  return items;
}

function trying(work: () => Promise<void>): void {
  work().catch((error: unknown) => toast(error instanceof ApiError ? problemText(error) : t("shell.error_internal")));
}
