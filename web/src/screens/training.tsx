/** The training screen: runs at the left; curves, samples and the attention as it forms. */
import { useEffect, useState } from "preact/hooks";
import { CommandList } from "../components/Commands";
import { Button, choices, Tabs } from "../components/controls";
import { Icon } from "../components/Icon";
import { Empty, Failed, Loading } from "../components/states";
import { t } from "../i18n";
import { duration } from "../lib/chart";
import { number } from "../lib/format";
import { coloursOf } from "../lib/series";
import { chosenRuns, shareDone, shortNames, titleOf } from "../lib/training";
import type { RunOut } from "../api-types";
import { params, setParams } from "../state";
import { Curves } from "./training/curves";
import { Emergence } from "./training/emergence";
import { useRunList, useRuns } from "./training/follow";
import { Samples } from "./training/samples";
import { metricName, type Shown } from "./training/shown";
import { Player } from "./training/Player";
import { TrainForm, TrainingOff } from "./training/TrainForm";
import { hasTrainer, isBusy, lookAtTrainer, trainer, trainerError, useTrainer } from "./training/trainer";
import "../styles/training.css";

const VIEWS = ["curves", "samples", "emergence"] as const;
type View = (typeof VIEWS)[number];

export function Training() {
  const { runs, error, retry } = useRunList();
  const server = useTrainer();
  const current = server?.current ?? null;
  const asked = params.value.new !== undefined;
  useEffect(retry, [current?.run, current?.status]); // a run that begins or ends is in the list at once
  return (
    <div class="screen training">
      <header class="screen-head">
        <h1>{t("training.title")}</h1>
        <p>{t("training.lead")}</p>
        {hasTrainer && !asked && (
          <Button kind="primary" onClick={() => setParams({ new: "1" }, { push: true })}>
            <Icon name="plus" size={16} /> {t("trainer.open")}
          </Button>
        )}
      </header>
      {!hasTrainer && <TrainingOff why="site" />}
      {current && <Player run={current} />}
      {asked && hasTrainer ? (
        server === null ? (
          trainerError.value ? (
            <Failed error={trainerError.value} retry={() => void lookAtTrainer()} />
          ) : (
            <Loading height={480} />
          )
        ) : server.off ? (
          <TrainingOff why={server.off} />
        ) : (
          <TrainForm trainer={server} />
        )
      ) : runs === null ? (
        error ? (
          <Failed error={error} retry={retry} />
        ) : (
          <Loading height={480} />
        )
      ) : runs.length === 0 ? (
        <NoRuns />
      ) : (
        <Board runs={runs} />
      )}
    </div>
  );
}

function NoRuns() {
  return (
    <div class="card none">
      <Empty title={t("training.empty_title")}>
        <p>{t("training.empty_text")}</p>
        <CommandList
          commands={[
            [t("training.empty_demo"), "jumok demo"],
            [t("training.empty_own"), "jumok train --source train.en --target train.de --out runs/en-de"],
            [t("training.empty_serve"), "jumok serve runs/en-de --runs runs"],
          ]}
        />
      </Empty>
    </div>
  );
}

function Board({ runs }: { runs: readonly RunOut[] }) {
  const mine = trainer.value?.current;
  const chosen = chosenRuns(runs, params.value.r ?? (isBusy(mine) ? mine!.run : undefined));
  const followed = useRuns(chosen);
  const [first] = useState(() => chosen.map((run) => run.name)); // a list that is cut off shows what is drawn
  const listed = [...runs].sort((a, b) => Number(first.includes(b.name)) - Number(first.includes(a.name)));
  const names = shortNames(runs.map(titleOf));
  const colours = coloursOf(chosen.map((run) => run.arch)); // of those on show: a run that is not takes no colour from them
  const colourOf = (run: RunOut) => colours[chosen.indexOf(run)];
  const shown = chosen.flatMap((run): Shown[] => {
    const data = followed.get(run.name)?.data;
    return data ? [{ data, name: names[runs.indexOf(run)], colour: colourOf(run) }] : [];
  });
  const failed = chosen.map((run) => followed.get(run.name)).find((entry) => entry?.error && !entry.data);
  const view: View = VIEWS.find((name) => name === params.value.v) ?? "curves";
  const toggle = (run: RunOut) => {
    const next = chosen.includes(run) ? chosen.filter((one) => one !== run) : [...chosen, run];
    setParams(
      {
        r:
          runs
            .filter((one) => next.includes(one))
            .map((one) => one.name)
            .join(",") || "-",
      },
      { push: true },
    );
  };
  return (
    <div class="board">
      <aside aria-label={t("training.runs")}>
        <h2>{t("training.runs")}</h2>
        <ul>
          {listed.map((run) => (
            <li key={run.name}>
              <RunButton
                run={followed.get(run.name)?.data?.detail ?? run}
                name={names[runs.indexOf(run)]}
                colour={colourOf(run)}
                on={chosen.includes(run)}
                onClick={() => toggle(run)}
              />
            </li>
          ))}
        </ul>
        <p class="note">{t("training.runs_hint")}</p>
      </aside>
      <div class="view">
        <Tabs
          label={t("training.views")}
          value={view}
          onChange={(v) => setParams({ v }, { push: true })}
          choices={choices(VIEWS, (value) => t(`training.view_${value}`))}
        />
        {failed?.error ? <Failed error={failed.error} /> : null}
        {chosen.length === 0 && mine && (params.value.r ?? mine.run) === mine.run ? (
          <Loading height={420} />
        ) : chosen.length === 0 ? (
          <Empty title={t("training.none_chosen")}>
            <p>{t("training.none_chosen_text")}</p>
          </Empty>
        ) : shown.length === 0 ? (
          !failed && <Loading height={420} />
        ) : (
          <div role="tabpanel" aria-label={t(`training.view_${view}`)}>
            {view === "curves" ? <Curves shown={shown} /> : view === "samples" ? <Samples shown={shown} /> : <Emergence shown={shown} />}
          </div>
        )}
      </div>
    </div>
  );
}

function RunButton({ run, name, colour, on, onClick }: { run: RunOut; name: string; colour: number; on: boolean; onClick(): void }) {
  const steps =
    run.step === null
      ? null
      : run.max_steps && run.status !== "completed" // its limit may have been another one before
        ? t("training.step_of", { n: run.step, total: run.max_steps })
        : run.time_limit && run.elapsed_s !== null
          ? t("training.step_time", { n: run.step, time: duration(run.elapsed_s), limit: duration(run.time_limit) })
          : t("training.step", { n: run.step });
  const share = shareDone(run);
  return (
    <button type="button" class={on ? `run on c${colour}` : "run"} aria-pressed={on} onClick={onClick} title={titleOf(run)}>
      <i class="swatch" aria-hidden="true" />
      <span class="name clip">{name}</span>
      <span class={`status ${run.status}`}>{t(`training.status_${run.status}`)}</span>
      <span class="about">
        {steps}
        {run.best && (
          <span>{t("training.best", { metric: metricName(run.best.metric), value: number(Number(run.best.value.toFixed(2))) })}</span>
        )}
      </span>
      {share !== null && run.status === "running" && (
        <span class="bar" aria-hidden="true">
          <i style={{ width: `${share * 100}%` }} />
        </span>
      )}
    </button>
  );
}
