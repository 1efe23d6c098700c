/** Curves of the runs on show: loss, score, learning rate, speed and gradient, with one cursor. */
import { useSignal } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import { LineFigure, type Flag, type Line } from "../../components/LineChart";
import { Button, Segmented, Switch } from "../../components/controls";
import { t } from "../../i18n";
import { smooth } from "../../lib/chart";
import { fixed, number, short } from "../../lib/format";
import { falls, outOf100 } from "../../lib/metrics";
import { directionsIn, levelOf, placeOf, points, scoreNames } from "../../lib/training";
import { params, setParams } from "../../state";
import { metricName, type Shown } from "./shown";

type Axis = "step" | "time";
const FLAGS = 60;
const NOTICES = 8;
const DEFAULT = "0.6";

/** One line per run of a curve; smoothed over what was measured when `weight` says so. */
function lines(
  shown: readonly Shown[],
  series: string,
  axis: Axis,
  weight: number,
  label: (run: string) => string,
  look: Partial<Line> = {},
): Line[] {
  return shown.flatMap((run): Line[] => {
    const { x, y } = points(run.data.series[series], axis);
    if (x.length === 0) return [];
    const soft = weight > 0 && y.length > 2;
    return [
      {
        id: `${run.data.detail.name} ${series}`,
        label: label(run.name),
        colour: run.colour,
        x,
        y: soft ? smooth(y, weight) : y,
        raw: soft ? y : undefined,
        ...look,
      },
    ];
  });
}

/** Beside a run the curve of the model that it started from, which was measured on that model's own data. */
function starts(shown: readonly Shown[], series: string, axis: Axis): Line[] {
  return shown.flatMap((run): Line[] => {
    const { start } = run.data.detail;
    const { x, y } = points(start?.series[series], axis);
    if (!start || x.length === 0) return [];
    const label = t("training.start_line", { run: run.name, start: start.name });
    return [{ id: `${run.data.detail.name} start ${series}`, label, colour: run.colour, x, y, dashed: true }];
  });
}

export function Curves({ shown }: { shown: readonly Shown[] }) {
  const cursor = useSignal<number | null>(null);
  const { x, y, sm = DEFAULT, me } = params.value;
  const axis: Axis = x === "time" ? "time" : "step";
  const log = y === "log";
  const weight = Math.max(0, Math.min(0.98, Number(sm) || 0));
  const scores = scoreNames(shown.map((run) => run.data));
  const judged = shown.map((run) => run.data.detail.best?.metric).find((metric) => metric && scores.includes(metric));
  const metric = me && scores.includes(me) ? me : (judged ?? scores[0]);
  const key = shown.map((run) => run.data);
  const plain = (run: string) => t("training.train_line", { run });
  const drawn = useMemo(() => {
    const valid = (run: string) => t("training.valid_line", { run });
    const old = (run: string) => t("training.kept_line", { run });
    return {
      loss: [
        ...lines(shown, "train.loss", axis, weight, plain),
        ...lines(shown, "valid.loss", axis, 0, valid, { dashed: true, dots: true }),
        ...lines(shown, "valid.kept_loss", axis, 0, old, { dashed: true }),
        ...starts(shown, "valid.loss", axis),
      ],
      score: metric
        ? [
            ...lines(shown, `valid.${metric}`, axis, 0, plain, { dots: true }),
            ...directionsOf(shown, metric).flatMap((way) =>
              lines(shown, `valid.${metric} ${way}`, axis, 0, (run) => `${run} ${way}`, { dashed: true }),
            ),
            ...lines(shown, `valid.kept_${metric}`, axis, 0, old, { dashed: true, dots: true }),
            ...starts(shown, `valid.${metric}`, axis),
          ]
        : [],
      lr: lines(shown, "train.lr", axis, 0, plain),
      tokens: lines(shown, "train.tokens_per_s", axis, weight, plain),
      grad: lines(shown, "train.grad_norm", axis, weight, plain),
    };
  }, [...key, axis, weight, metric, shown.length]);
  const flags = useMemo(() => flagsOf(shown, axis), [...key, axis, shown.length]);
  const shared = {
    cursor,
    xLabel: t(`training.x_${axis}`),
    xKind: axis === "time" ? ("time" as const) : ("number" as const),
    formatX: axis === "time" ? undefined : steps,
    xRange: [0, null] as const,
  };
  return (
    <div class="stack">
      <div class="row wide controls">
        <Segmented
          label={t("training.axis")}
          value={axis}
          onChange={(value) => setParams({ x: value === "step" ? null : value })}
          choices={[
            { value: "step", label: t("training.axis_step") },
            { value: "time", label: t("training.axis_time") },
          ]}
        />
        <label class="field">
          {t("training.smooth")}
          <input
            type="range"
            min="0"
            max="0.98"
            step="0.02"
            value={weight}
            onInput={(event) => setParams({ sm: event.currentTarget.value === DEFAULT ? null : event.currentTarget.value })}
          />
          <span class="amount">{weight === 0 ? t("training.smooth_off") : fixed(weight, 2)}</span>
        </label>
        <Switch label={t("training.log")} on={log} onChange={(on) => setParams({ y: on ? "log" : null })} />
      </div>
      <div class="charts">
        <LineFigure
          title={t("training.loss")}
          {...shared}
          lines={drawn.loss}
          log={log}
          flags={flags}
          height={260}
          caption={weight > 0 ? t("training.loss_caption_smooth") : t("training.loss_caption")}
          className="wide"
        />
        {metric && (
          <LineFigure
            title={t("training.score")}
            {...shared}
            lines={drawn.score}
            yRange={[0, outOf100(metric) ? 100 : null]}
            caption={falls(metric) ? t("training.lower_better") : undefined}
            formatY={(v) => fixed(v, 1)}
            flags={flags}
            height={170}
            tools={
              scores.length > 1 && (
                <Segmented
                  label={t("training.metric")}
                  value={metric}
                  onChange={(value) => setParams({ me: value })}
                  choices={scores.map((value) => ({ value, label: metricName(value) }))}
                />
              )
            }
          />
        )}
        <LineFigure title={t("training.lr")} {...shared} lines={drawn.lr} height={170} yRange={[0, null]} />
        <LineFigure title={t("training.tokens")} {...shared} lines={drawn.tokens} height={170} yRange={[0, null]} formatY={short} />
        <LineFigure title={t("training.grad")} {...shared} lines={drawn.grad} flags={flags} height={170} yRange={[0, null]} />
      </div>
      <Origins shown={shown} />
      <Notices shown={shown} />
    </div>
  );
}

const directionsOf = (shown: readonly Shown[], metric: string) =>
  directionsIn(
    shown.map((run) => run.data),
    metric,
  );

/** What each run started from, with its hash; nothing for runs from nothing. */
function Origins({ shown }: { shown: readonly Shown[] }) {
  const found = shown.flatMap((run) => (run.data.detail.start ? [{ run, start: run.data.detail.start }] : []));
  if (found.length === 0) return null;
  return (
    <section class="card notices" aria-label={t("training.starts")}>
      <h2>{t("training.starts")}</h2>
      <p class="note">{t("training.starts_note")}</p>
      <ul>
        {found.map(({ run, start }) => (
          <li key={run.data.detail.name} class="info">
            <span class={`who c${run.colour}`}>{run.name}</span>
            <span class="when">{start.name}</span>
            <span>{start.sha256 ? t("training.start_hash", { hash: start.sha256.slice(0, 12) }) : ""}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const steps = (value: number) => (value >= 1e5 ? short(value) : number(value));

function flagsOf(shown: readonly Shown[], axis: Axis): Flag[] {
  return shown
    .flatMap((run) =>
      run.data.detail.notices.flatMap((notice): Flag[] => {
        const x = notice.step === null ? null : placeOf(notice.step, run.data.series["train.loss"], axis);
        return x === null ? [] : [{ x, text: `${run.name}: ${notice.message ?? notice.code ?? ""}`, level: levelOf(notice) }];
      }),
    )
    .slice(-FLAGS);
}

function Notices({ shown }: { shown: readonly Shown[] }) {
  const [all, setAll] = useState(false);
  const found = shown.flatMap((run) => run.data.detail.notices.map((notice) => ({ run, notice }))).reverse();
  return (
    <section class="card notices" aria-label={t("training.notices")}>
      <h2>{t("training.notices")}</h2>
      {found.length === 0 && <p class="note">{t("training.notices_none")}</p>}
      <ul>
        {(all ? found : found.slice(0, NOTICES)).map(({ run, notice }, i) => (
          <li key={i} class={levelOf(notice)}>
            <span class={`who c${run.colour}`}>{run.name}</span>
            <span class="when">{notice.step === null ? "" : t("training.notice_at", { n: notice.step })}</span>
            <span>{notice.message ?? notice.code}</span>
          </li>
        ))}
      </ul>
      {!all && found.length > NOTICES && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          {t("training.notice_more", { n: found.length })}
        </Button>
      )}
    </section>
  );
}
