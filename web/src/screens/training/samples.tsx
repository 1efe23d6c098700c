/** The same validation sentences over time, with what differs marked. */
import { useState } from "preact/hooks";
import { Button, Segmented, Select } from "../../components/controls";
import { Empty } from "../../components/states";
import { t } from "../../i18n";
import { signed } from "../../lib/format";
import { stories, type Stage, type Story } from "../../lib/training";
import { wordDiff } from "../../lib/words";
import { params, setParams } from "../../state";
import { oneOf, type Shown } from "./shown";

const STAGES = 10;

export function Samples({ shown }: { shown: readonly Shown[] }) {
  const run = oneOf(shown, (one) => one.data.detail.samples.length > 0);
  const against = params.value.d === "before" ? "before" : "reference";
  const found = stories(run.data.detail.samples);
  return (
    <div class="stack">
      <div class="row wide controls">
        <RunChoice shown={shown} run={run} />
        <div class="field">
          {t("training.samples_against")}
          <Segmented
            label={t("training.samples_against")}
            value={against}
            onChange={(d) => setParams({ d: d === "before" ? d : null })}
            choices={[
              { value: "reference", label: t("training.against_reference") },
              { value: "before", label: t("training.against_before") },
            ]}
          />
        </div>
      </div>
      {found.length === 0 ? (
        <div class="card">
          <Empty title={t("training.samples_none")} />
        </div>
      ) : (
        <section class="stories" aria-label={t("training.samples_title")}>
          <p class="note">{t("training.samples_key")}</p>
          {found.map((story, i) => (
            <StoryCard key={i} story={story} against={against} />
          ))}
        </section>
      )}
    </div>
  );
}

/** Which of the runs on show this view is about; nothing when there is only one. */
export function RunChoice({ shown, run }: { shown: readonly Shown[]; run: Shown }) {
  if (shown.length < 2) return null;
  const choices = shown.map((one) => ({ value: one.data.detail.name, label: one.name }));
  const choose = (o: string) => setParams({ o, p: null, l: null, h: null, i: null }, { push: true });
  return choices.length <= 4 ? (
    <Segmented label={t("training.run")} value={run.data.detail.name} choices={choices} onChange={choose} />
  ) : (
    <Select label={t("training.run")} value={run.data.detail.name} choices={choices} onChange={choose} />
  );
}

function StoryCard({ story, against }: { story: Story; against: "reference" | "before" }) {
  const [all, setAll] = useState(false);
  const hidden = all ? 0 : Math.max(0, story.stages.length - STAGES);
  const stages = hidden ? [story.stages[0], ...story.stages.slice(hidden + 1)] : story.stages;
  return (
    <article class="card story">
      <dl>
        <dt>{t("training.source")}</dt>
        <dd dir="auto">{story.src}</dd>
        <dt>{t("training.reference")}</dt>
        <dd dir="auto">{story.ref}</dd>
      </dl>
      <ol>
        {stages.map((stage, i) => {
          const before = story.stages[story.stages.indexOf(stage) - 1];
          return (
            <StageRow
              key={stage.from}
              stage={stage}
              wanted={against === "reference" ? story.ref : before?.hyp}
              right={stage.hyp === story.ref}
              gap={hidden > 0 && i === 1}
            />
          );
        })}
      </ol>
      {hidden > 0 && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          {t("training.stages_more", { n: hidden })}
        </Button>
      )}
    </article>
  );
}

function StageRow({ stage, wanted, right, gap }: { stage: Stage; wanted: string | undefined; right: boolean; gap: boolean }) {
  const parts = wanted === undefined ? [{ kind: "same" as const, text: stage.hyp }] : wordDiff(stage.hyp, wanted);
  return (
    <li class={gap ? "gap" : undefined}>
      <span class="when">
        {stage.from === stage.to ? t("training.step", { n: stage.from }) : t("training.steps_range", { from: stage.from, to: stage.to })}
      </span>
      <span class="text" dir="auto">
        {stage.hyp === "" && <span class="faint">{t("training.nothing_written")}</span>}
        {parts.map((part, i) =>
          part.kind === "same" ? part.text : part.kind === "added" ? <ins key={i}>{part.text}</ins> : <del key={i}>{part.text}</del>,
        )}
        {right && <span class="right" title={t("training.right")} role="img" aria-label={t("training.right")} />}
      </span>
      <span class="num faint">{stage.score === null ? "" : signed(stage.score, 2)}</span>
    </li>
  );
}
