/** One training step, one stage at a time: softmax and loss, gradients, back through attention, the optimiser, the loss after it. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { postJson } from "../../api";
import type { Arch, BackwardTensorOut, TrainingStepOut } from "../../api-types";
import { Button, choices, Segmented, Select, Tabs } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { Await, Empty } from "../../components/states";
import { useResource } from "../../hooks";
import { t } from "../../i18n";
import { fixed, number, short } from "../../lib/format";
import { Amounts, isDates, Slider, updateLines } from "../parts";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { oneStepWords } from "../words/one-step";
import type { FigureProps } from ".";
import "./one-step.css";

export const arch: readonly Arch[] = ["transformer", "luong", "rnn"];
const say = wordsOf(oneStepWords);

const STAGES = ["softmax", "logits", "weight", "attention", "update", "after"] as const;
type Stage = (typeof STAGES)[number];
const OPTIMIZERS = ["sgd", "adam", "adamw"] as const;
type Optimizer = (typeof OPTIMIZERS)[number];
const RATES = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1];
const OPTIMIZER_NAMES = { sgd: "SGD", adam: "Adam", adamw: "AdamW" } as const;
/** A date that models read day first, to be learned month first. */
const AMBIGUOUS = { text: "03/05/2024", target: "2024-03-05" };

export default function OneStep({ card, text, tell }: FigureProps) {
  const [optimizer, setOptimizer] = useState<Optimizer>("adam");
  const [rate, setRate] = useState(2);
  const [steps, setSteps] = useState(0);
  const [token, setToken] = useState<number | null>(null);
  const [weight, setWeight] = useState("W_out");
  const [stage, setStage] = useState<Stage>("softmax");
  const most = card.limits.step_parameters ?? Number.POSITIVE_INFINITY;
  const body = {
    model: card.name,
    ...(isDates(card) ? AMBIGUOUS : { text }),
    optimizer,
    lr: RATES[rate],
    steps,
    weight,
    rates: RATES,
    ...(token === null ? {} : { token }),
  };
  const step = useResource(
    card.parameters > most ? null : `step ${JSON.stringify(body)}`,
    (signal) => postJson<TrainingStepOut>("/v1/training-step", body, signal),
    { cache: true },
  );
  const found = step.value;
  useEffect(() => {
    if (!found) return;
    const { before, gradient } = found.weight;
    tell({ before, gradient, sgd: before - 0.1 * gradient, loss: found.loss, after: found.loss_after, lr: found.rule.lr });
  }, [found]);
  if (card.parameters > most)
    return (
      <div class="figure learn-lack">
        <Empty title={say("title")}>
          <p>{say("too_large", { n: short(card.parameters), most: short(most) })}</p>
        </Empty>
      </div>
    );
  const at = STAGES.indexOf(stage);
  return (
    <Await of={step} height={560}>
      {(value) => (
        <Figure title={say("title")} words table={() => tableOf(value)}>
          <div class="stack one-step">
            <p class="small">{say("intro", { model: t(`shell.arch_${card.arch}`), text: value.source, target: value.target })}</p>
            {!isDates(card) && <p class="note">{say("own")}</p>}
            <div class="one-step-choose">
              <Segmented
                label={say("optimizer")}
                value={optimizer}
                choices={choices(OPTIMIZERS, (name) => OPTIMIZER_NAMES[name])}
                onChange={(value) => setOptimizer(value)}
              />
              <Slider label={say("rate")} value={rate} min={0} max={RATES.length - 1} shown={String(RATES[rate])} onChange={setRate} />
              <Slider label={say("steps")} value={steps} min={0} max={10} onChange={setSteps} />
              <Select
                label={say("token")}
                value={String(value.token)}
                choices={value.tokens.map((one, i) => ({ value: String(i), label: `${i + 1} ${one.text.trim() || "␣"}` }))}
                onChange={(chosen) => setToken(Number(chosen))}
              />
              <Select
                label={say("weight")}
                value={weight}
                choices={choices(["W_out", ...value.gradients.map((one) => one.name)], (name) => name)}
                onChange={setWeight}
              />
            </div>
            <Tabs
              label={say("stages")}
              value={stage}
              choices={choices(STAGES, (name) => say(`stage_${name}`))}
              onChange={(value) => setStage(value)}
            />
            <div role="tabpanel" aria-label={say(`stage_${stage}`)} class="stack">
              {drawn[stage]({ of: value })}
            </div>
            {at < STAGES.length - 1 && (
              <div class="row">
                <Button onClick={() => setStage(STAGES[at + 1])}>{say("next")}</Button>
              </div>
            )}
          </div>
        </Figure>
      )}
    </Await>
  );
}

interface Part {
  of: TrainingStepOut;
}

const rightOf = ({ tokens, token }: TrainingStepOut) => tokens[token].text.trim();
const labelsOf = ({ candidates }: TrainingStepOut) => candidates.map((one) => ({ text: one.text.trim() || "␣" }));
const rowOf = (values: BackwardTensorOut["values"], head: number) => (values as readonly (readonly number[])[])[head] ?? [];

const drawn: Readonly<Record<Stage, (props: Part) => ComponentChildren>> = {
  softmax: ({ of }) => {
    const right = of.candidates.find((one) => one.y === 1)!;
    return (
      <>
        <Amounts
          labels={labelsOf(of)}
          on={of.candidates.indexOf(right)}
          of={[
            { name: say("logit"), term: 1, values: of.candidates.map((one) => one.logit), decimals: 1 },
            { name: say("p"), term: 2, values: of.candidates.map((one) => one.p), full: 1, decimals: 3 },
          ]}
        />
        <p class="note">{say("rest", { n: of.vocabulary - of.candidates.length })}</p>
        <p>
          {say("loss_of", {
            token: right.text.trim(),
            p: number(right.p),
            loss: fixed(of.losses[of.token], 3),
            n: of.tokens.length,
            mean: fixed(of.loss, 3),
          })}
        </p>
      </>
    );
  },
  logits: ({ of }) => (
    <Reveal
      key="sign"
      ask={say("ask_sign", { token: rightOf(of) })}
      options={[say("below"), say("above")]}
      right={of.candidates.find((one) => one.y === 1)!.gradient < 0 ? 0 : 1}
      why={say("why_sign")}
    >
      <Amounts
        labels={labelsOf(of)}
        on={of.candidates.findIndex((one) => one.y === 1)}
        of={[
          { name: say("p"), term: 2, values: of.candidates.map((one) => one.p), full: 1, decimals: 3 },
          { name: say("y"), term: 3, values: of.candidates.map((one) => one.y), full: 1, decimals: 0 },
          { name: say("gradient"), term: 4, values: of.candidates.map((one) => one.gradient), decimals: 4 },
        ]}
      />
    </Reveal>
  ),
  weight: WeightStage,
  attention: AttentionStage,
  update: ({ of }) => {
    const { weight, rule } = of;
    return (
      <>
        <Named of={of} />
        <p>{say("update", { before: number(weight.before), g: number(weight.gradient), t: rule.number })}</p>
        <ol class="update-lines">
          {updateLines(weight, rule).map((line, i) => (
            <li key={i}>
              <b>{line.name}</b>
              <span>
                = {line.letters}
                <br />= {line.numbers}
                <br />= <b>{number(line.value)}</b>
              </span>
            </li>
          ))}
        </ol>
        <p>{say("agrees", { after: number(weight.after) })}</p>
      </>
    );
  },
  after: ({ of }) => {
    const { loss, loss_after, rule } = of;
    const rates = of.rates.map((one) => one.loss ?? Number.POSITIVE_INFINITY);
    const worse = of.rates.find((_, i) => rates[i] > loss);
    return (
      <Reveal
        key="after"
        ask={say("ask_after", { loss: fixed(loss, 3), lr: String(rule.lr) })}
        options={[say("lower"), say("higher")]}
        right={loss_after < loss ? 0 : 1}
        why={say(loss_after < loss ? "why_lower" : "why_higher", { loss: fixed(loss, 3), after: fixed(loss_after, 3) })}
      >
        <h3>{say("by_rate")}</h3>
        <Amounts
          labels={[{ text: say("before") }, ...of.rates.map((one) => ({ text: String(one.lr) }))]}
          on={1 + of.rates.findIndex((one) => one.lr === rule.lr)}
          of={[{ name: say("loss"), term: 6, values: [loss, ...rates], decimals: 2, full: 2 * loss }]}
        />
        {worse && <p class="note">{say("worse", { lr: String(worse.lr) })}</p>}
      </Reveal>
    );
  },
};

function Named({ of: { weight } }: Part) {
  return (
    <p class="weight-named">{say("weight_is", { name: weight.name, index: weight.index.join(", "), value: number(weight.before) })}</p>
  );
}

function WeightStage({ of }: Part) {
  const { weight, tokens, token, tensors } = of;
  const largest = [...of.gradients].sort((a, b) => b.norm - a.norm).slice(0, 8);
  const h = tensors[0].values as readonly number[];
  const summed = weight.by_token.reduce((sum, part) => sum + part, 0);
  const candidate = of.candidates.find((one) => one.id === weight.index[0]);
  return (
    <>
      <Named of={of} />
      {weight.by_token.length > 0 && candidate ? (
        <>
          <p>
            {say("at_token", {
              token: rightOf(of),
              dz: number(candidate.gradient),
              h: number(h[weight.index[1]]),
              part: number(weight.by_token[token]),
            })}
          </p>
          <h3>{say("by_token")}</h3>
          <Amounts
            labels={[...tokens.map((one) => ({ text: one.text.trim() || "␣" })), { text: "E" }, { text: "g" }]}
            on={token}
            most={20}
            of={[{ name: say("part"), term: 4, values: [...weight.by_token, weight.gradient - summed, weight.gradient], decimals: 4 }]}
          />
          <p class="note">
            E: {say("as_embedding")}; g: {say("sum")}
          </p>
        </>
      ) : (
        <p>{say("not_out", { g: number(weight.gradient) })}</p>
      )}
      <h3>{say("every")}</h3>
      <ul class="norms">
        {largest.map((one) => (
          <li key={one.name}>
            <span>{one.name}</span> <b class="num">{number(one.norm)}</b>
          </li>
        ))}
      </ul>
    </>
  );
}

function AttentionStage({ of }: Part) {
  const [asked, setAsked] = useState<number | null>(null);
  const [weights, scores] = of.tensors.slice(-2);
  if (of.tensors.length < 4) return <p>{say("no_attention")}</p>;
  const heads = weights.values as readonly (readonly number[])[];
  const size = heads.map((_, head) => Math.max(...rowOf(scores.gradient, head).map(Math.abs)));
  const head = asked ?? size.indexOf(Math.max(...size));
  const [a, da] = [heads[head], rowOf(weights.gradient, head)];
  const mean = a.reduce((sum, value, i) => sum + value * da[i], 0);
  return (
    <>
      {heads.length > 1 && (
        <Segmented
          label={say("head")}
          value={String(head)}
          choices={heads.map((_, i) => ({ value: String(i), label: `${say("head")} ${i + 1}` }))}
          onChange={(value) => setAsked(Number(value))}
        />
      )}
      <Amounts
        labels={of.source_tokens.map((text) => ({ text }))}
        on={a.indexOf(Math.max(...a))}
        of={[
          { name: say("alpha"), term: 2, values: a, full: 1, decimals: 3 },
          { name: say("d_alpha"), term: 4, values: da, decimals: 3 },
          { name: say("d_score"), term: 5, values: rowOf(scores.gradient, head), decimals: 4 },
        ]}
      />
      <p class="note">{say("mean_da", { mean: number(mean) })}</p>
    </>
  );
}

/** All numbers of the figure as rows. */
function tableOf(of: TrainingStepOut) {
  const rows: (string | number)[][] = [
    ...of.candidates.flatMap((one) => [
      [`z ${one.text}`, one.logit],
      [`p ${one.text}`, one.p],
      [`∂L/∂z ${one.text}`, one.gradient],
    ]),
    ...updateLines(of.weight, of.rule).map((line) => [line.name, line.value]),
    [`θ ${of.weight.name}[${of.weight.index.join(", ")}]`, of.weight.before],
    [`g`, of.weight.gradient],
    [`θ′`, of.weight.after],
    [`${say("loss")}, ${say("before")}`, of.loss],
    ...of.rates.map((one) => [`${say("loss")}, η ${one.lr}`, one.loss ?? say("not_finite")]),
  ];
  return { head: [say("quantity"), say("value")], rows };
}
