/** How the run of this page stands, with what can be done about it. */
import { useState } from "preact/hooks";
import { type ApiError, changeTraining } from "../../api";
import type { TrainingOut } from "../../api-types";
import { CommandList } from "../../components/Commands";
import { Button } from "../../components/controls";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { problemText } from "../../components/states";
import { problemOf } from "../../errors";
import { t } from "../../i18n";
import { duration } from "../../lib/chart";
import { href } from "../../state";
import { lookAtTrainer } from "./trainer";

const DOTS = { done: "completed", failed: "failed", paused: "stopped" } as const;

export function Player({ run }: { run: TrainingOut }) {
  const [error, setError] = useState<ApiError | null>(null);
  const act = async (action: "pause" | "resume" | "stop") => {
    setError(null);
    try {
      await changeTraining(run.run, action);
    } catch (found) {
      setError(problemOf(found));
    }
    await lookAtTrainer();
  };
  const { status } = run;
  const passed = Math.min(run.seconds, run.elapsed_s ?? 0);
  const live = status === "starting" || status === "running";
  return (
    <section class="card player" aria-label={t("trainer.player")}>
      <div class="row wide">
        <span class={`status ${DOTS[status as keyof typeof DOTS] ?? "running"}`} role="status">
          {t(`trainer.is_${status}`)}
        </span>
        <strong class="clip">{run.run}</strong>
        <span class="small muted">{t("trainer.about", { arch: t(`shell.arch_${run.arch}`), n: run.pairs })}</span>
        {run.step !== null && status !== "done" && <span class="small muted">{t("trainer.step", { n: run.step })}</span>}
        {(live || status === "paused") && (
          <span class="small">{t("trainer.left", { time: duration(Math.ceil(run.seconds - passed)) })}</span>
        )}
        <span class="acts row">
          {live && (
            <Button onClick={() => void act("pause")}>
              <Icon name="pause" size={16} /> {t("trainer.pause")}
            </Button>
          )}
          {(status === "paused" || status === "failed") && (
            <Button kind="primary" onClick={() => void act("resume")}>
              <Icon name="play" size={16} /> {t("trainer.resume")}
            </Button>
          )}
          {(live || status === "paused") && <Button onClick={() => void act("stop")}>{t("trainer.stop")}</Button>}
          {run.model && (
            <Link class="btn primary" href={href("translate", { m: run.model, s: null, r: null, v: null, new: null, w: null, i: null })}>
              {t("trainer.explore", { model: run.model })}
            </Link>
          )}
        </span>
      </div>
      {(live || status === "paused") && (
        <progress class="documents-meter" aria-label={t("trainer.player")} max={run.seconds} value={passed} />
      )}
      {error && (
        <p class="trainer-bad" role="alert">
          {problemText(error)} {error.detail}
        </p>
      )}
      {run.problem && (
        <p class="trainer-bad" role="alert">
          {run.problem}
        </p>
      )}
      <p class="note">
        {status === "starting" ? t("trainer.starting_text") : live ? t("trainer.goes_on") : run.model ? t("trainer.explore_text") : ""}
      </p>
      {!live && (
        <details>
          <summary class="small">{t("trainer.command")}</summary>
          <CommandList commands={[["", run.command]]} />
        </details>
      )}
    </section>
  );
}
