/** Attention step by step: one head, six stages or seven, one cell that stays chosen, and its arithmetic. */
import type { ComponentType } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Manifest } from "../../api-types";
import { Badge, IconButton, kindChoices, Segmented, Select, Switch } from "../../components/controls";
import { Scrubber, Speed, speedOf } from "../../components/Scrubber";
import { Await, Loading, Warnings } from "../../components/states";
import { useTensors } from "../../hooks";
import { t } from "../../i18n";
import { withEdit } from "../../components/whatif/words";
import { editOf } from "../../lib/interventions";
import { useKeys } from "../../keys";
import { decimalsFor, shown } from "../../lib/arithmetic";
import { percent } from "../../lib/format";
import { range } from "../../lib/range";
import { params, setParams } from "../../state";
import { StageFormula, WholeFormula } from "./formulas";
import { chosenOf, choiceOf, dimensionOf, dimensionsOf, headOf, isWide, needsOf, stagesOf, valueParts } from "./head";
import type { Choice, Chosen, Head, Stage } from "./head";
import { Panels } from "./Panels";
import { Reckoning } from "./Reckoning";
import { Trials } from "./Trials";
import { WithoutAttention } from "./Recurrence";
import type { HeadFigureProps } from "../../map/HeadFigure";

/** Milliseconds of a stage at speed 1. */
export const PACE = 2200;

export function AttentionTab({ manifest }: { manifest: Manifest }) {
  const choice = choiceOf(params.value, manifest);
  return choice ? <OneHead manifest={manifest} choice={choice} /> : <WithoutAttention manifest={manifest} />;
}

function OneHead({ manifest, choice }: { manifest: Manifest; choice: Choice }) {
  const tensors = useTensors(manifest.id, needsOf(choice, manifest));
  const head = useMemo(() => headOf(manifest, choice, tensors.value), [manifest.id, choice.kind, choice.layer, choice.head, tensors.value]);
  const chosen = head && chosenOf(params.value, head);
  return (
    <div class="stack inside-attention">
      <Warnings of={manifest} />
      <Controls manifest={manifest} choice={choice} wide={head ? isWide(head.d) : false} />
      {head && chosen ? (
        <div class={tensors.status === "loading" ? "stack stale" : "stack"}>
          {choice.kind !== "enc_self" && <Scrubber manifest={manifest} />}
          <Steps choice={choice} head={head} chosen={chosen} />
          <InMotion {...{ manifest, choice, head, chosen }} />
          <div class="inside-body">
            <Panels manifest={manifest} choice={choice} head={head} chosen={chosen} />
            <Reckoning manifest={manifest} choice={choice} head={head} chosen={chosen} />
          </div>
          <Trials choice={choice} head={head} chosen={chosen} />
        </div>
      ) : (
        <Await of={tensors} height={420}>
          {() => <Loading height={420} />}
        </Await>
      )}
    </div>
  );
}

/** The row of the chosen query in motion; its script comes when it is opened. */
function InMotion(props: Omit<HeadFigureProps, "onPick">) {
  const [HeadFigure, setFigure] = useState<ComponentType<HeadFigureProps> | null>(null);
  const open = params.value.mo === "1";
  useEffect(() => {
    if (open) void import("../map").then((map) => setFigure(() => map.HeadFigure));
  }, [open]);
  return (
    <details class="inside-motion" open={open} onToggle={(event) => setParams({ mo: event.currentTarget.open ? 1 : null })}>
      <summary>{t("map.motion")}</summary>
      {open && HeadFigure && <HeadFigure {...props} onPick={(j) => setParams({ j }, { push: true })} />}
    </details>
  );
}

function Controls({ manifest, choice, wide }: { manifest: Manifest; choice: Choice; wide: boolean }) {
  const edit = editOf(manifest.interventions, choice.kind, choice.layer, choice.head);
  const numbered = (count: number) => range(count).map((n) => ({ value: String(n + 1), label: String(n + 1) }));
  return (
    <div class="row wide">
      <Segmented
        label={t("attention.kind")}
        value={choice.kind}
        onChange={(k) => setParams({ k, l: null, h: null, q: null, j: null, dim: null }, { push: true })}
        choices={kindChoices(manifest.model.kinds)}
      />
      {choice.size.layers > 1 && (
        <Select
          label={t("inside.layer")}
          value={String(choice.layer + 1)}
          choices={numbered(choice.size.layers)}
          onChange={(l) => setParams({ l, dim: null }, { push: true })}
        />
      )}
      {choice.size.heads > 1 && (
        <Select
          label={t("inside.head")}
          value={String(choice.head + 1)}
          choices={numbered(choice.size.heads).map(({ value, label }, head) => ({
            value,
            label: withEdit(label, editOf(manifest.interventions, choice.kind, choice.layer, head)),
          }))}
          onChange={(h) => setParams({ h, dim: null }, { push: true })}
        />
      )}
      {edit && <Badge tone="warn">{t(`attention.edit_${edit}`)}</Badge>}
      {wide && (
        <Switch
          label={t("inside.show_all", { n: manifest.model.kinds[choice.kind]!.d_head })}
          on={choice.all}
          onChange={(on) => setParams({ all: on ? 1 : null })}
        />
      )}
    </div>
  );
}

/** The stages as steps, each with the chosen cell's value after it; play, pause, back and on. */
export function Steps({ choice, head, chosen }: { choice: Choice; head: Head; chosen: Chosen }) {
  const [playing, setPlaying] = useState(false);
  const { stage } = choice;
  const order = stagesOf(head);
  const last = order[order.length - 1];
  const show = (next: Stage, push = true) => setParams({ stage: next === 1 ? null : next }, { push });
  const beside = (now: Stage, by: -1 | 1) => order[Math.max(0, Math.min(order.length - 1, order.indexOf(now) + by))];
  const step = (by: -1 | 1) => {
    setPlaying(false);
    const ahead = order.find((one) => String(one) === params.peek().stage); // the address may be a step ahead of what is drawn
    show(beside(ahead ?? 1, by));
  };
  useKeys({ ",": () => step(-1), ".": () => step(1) });
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => (stage !== last ? show(beside(stage, 1), false) : setPlaying(false)), PACE / speedOf());
    return () => clearTimeout(timer);
  }, [playing, stage]);
  const play = () => {
    if (!playing && stage === last) show(1, false);
    setPlaying(!playing);
  };
  return (
    <div class="card inside-steps">
      <div class="row between">
        <div class="row inside-play">
          <IconButton icon="prev" label={t("inside.back")} shortcut="," disabled={stage === 1} onClick={() => step(-1)} />
          <IconButton
            icon={playing ? "pause" : "play"}
            label={playing ? t("inside.pause") : t("inside.play")}
            pressed={playing}
            onClick={play}
          />
          <IconButton icon="next" label={t("inside.on")} shortcut="." disabled={stage === last} onClick={() => step(1)} />
          <Speed />
        </div>
        <div class="inside-whole">
          <WholeFormula
            stage={stage}
            luong={head.luong}
            copy={head.copy}
            unscaled={head.unscaled}
            biased={head.bias !== null}
            score={head.score}
            heads={choice.size.heads}
          />
        </div>
      </div>
      <ol>
        {order.map((one, n) => (
          <li key={one}>
            <button
              type="button"
              aria-current={one === stage ? "step" : undefined}
              onClick={() => {
                setPlaying(false);
                show(one);
              }}
            >
              <span class="inside-step-name">
                <b>{n + 1}</b> {t(stageName(one, head))}
              </span>
              <span class={head.unscaled && one === 2 ? "struck" : undefined}>
                <StageFormula stage={one} luong={head.luong} copy={head.copy} score={head.score} />
              </span>
              <span class="inside-step-value">{valueAfter(one, choice, head, chosen)}</span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

const stageName = (stage: Stage, { luong, copy, unscaled }: Head) =>
  luong && stage === 6
    ? "inside.stage_6_luong"
    : copy && stage === 6
      ? "inside.stage_6_copy"
      : unscaled && stage === 2
        ? "inside.stage_2_unscaled"
        : (`inside.stage_${stage}` as const);

const figure = (value: number) => shown(value, Math.min(4, decimalsFor(value))).text;

/** The chosen cell after a stage. */
function valueAfter(stage: Stage, choice: Choice, head: Head, chosen: Chosen): string {
  const at = chosen.q * head.scores.cols + chosen.k;
  const parts = valueParts(head, chosen);
  const dimension = dimensionOf(params.value, parts, dimensionsOf(parts, choice.all));
  switch (stage) {
    case 1:
      return figure(head.scores.data[at]);
    case 2:
      return head.unscaled ? t("inside.unscaled_short") : figure(head.scaled.data[at]);
    case 7:
      return figure(head.placed.data[at]);
    case 3:
      return head.mask[at] ? figure(head.placed.data[at]) : figure(-Infinity);
    case 4:
      return figure(head.weights.data[at]);
    case 5:
      return t("inside.dimension_value", { dim: dimension + 1, value: figure(head.context.data[chosen.q * head.d + dimension]) });
    case 6:
      return head.copy ? percent(head.out.data[chosen.q]) : t("inside.numbers", { n: head.out.cols });
  }
}
