/** Runs as the views of the training screen get them. */
import { t, type MessageKey } from "../../i18n";
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

const METRICS: Readonly<Record<string, MessageKey>> = { bleu: "training.metric_bleu", chrf: "training.metric_chrf", exact: "training.metric_exact", loss: "training.metric_loss" };

/** A metric by the name people know it by. */
export const metricName = (metric: string): string => (metric in METRICS ? t(METRICS[metric]) : metric);
