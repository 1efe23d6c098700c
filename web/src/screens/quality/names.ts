/** Names of metrics on the quality screen. */
import { t } from "../../i18n";
import { named } from "../../lib/metrics";

/** A metric by the name people know it by. */
export const metricName = (metric: string): string =>
  named(metric, { exact: t("quality.metric_exact"), length_ratio: t("quality.metric_length_ratio") });
