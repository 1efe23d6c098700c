/** Names of metrics on the quality screen. */
import { t, type MessageKey } from "../../i18n";

const METRICS: Readonly<Record<string, MessageKey>> = { bleu: "quality.metric_bleu", chrf: "quality.metric_chrf", exact: "quality.metric_exact", length_ratio: "quality.metric_length_ratio" };

/** A metric by the name people know it by; a name that is not known stays as it is. */
export const metricName = (metric: string): string => (metric in METRICS ? t(METRICS[metric]) : metric.toUpperCase());

/** Whether a metric runs from 0 to 100, more being better. */
export const outOf100 = (metric: string): boolean => ["bleu", "bleu-lc", "chrf", "chrf-char", "exact", "rouge"].includes(metric);
