/** Runs as the views of the training screen get them. */
import { t } from "../../i18n";
import { named } from "../../lib/metrics";
import type { RunData } from "../../lib/training";
import { params } from "../../state";

/** A run on show: its data, the name its lines carry and their colour. */
export interface Shown {
  readonly data: RunData;
  readonly name: string;
  readonly colour: number;
}

/** The run of a view that shows one at a time: that of the address, else the last that has what the view needs. */
export function oneOf(shown: readonly Shown[], has: (run: Shown) => boolean): Shown {
  return shown.find((run) => run.data.detail.name === params.value.o) ?? shown.findLast(has) ?? shown[0];
}

/** A metric by the name people know it by. */
export const metricName = (metric: string): string => named(metric, { exact: t("training.metric_exact"), loss: t("training.metric_loss") });
