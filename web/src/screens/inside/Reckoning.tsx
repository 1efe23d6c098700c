/** The arithmetic of the chosen cell at a stage, in printed numbers that add up. */
import type { Manifest } from "../../api-types";
import { useTensors } from "../../hooks";
import { t } from "../../i18n";
import { addsUp, decimalsFor, norm, operandDecimals, shown, softmax, softmaxSteps, sumOf } from "../../lib/arithmetic";
import { fixed, percent } from "../../lib/format";
import { entropy, row } from "../../lib/matrix";
import { href, params, setParams } from "../../state";
import { contextsOf, dimensionOf, dimensionsOf, joinNeeds, keyParts, scoreParts, valueParts } from "./head";
import type { Choice, Chosen, Head } from "./head";
import { Link } from "../../components/Link";
import { Equation, factors, SoftmaxLines, SumList } from "../../components/Sums";

interface Props {
  manifest: Manifest;
  choice: Choice;
  head: Head;
  chosen: Chosen;
}

export function Reckoning(props: Props) {
  const { choice, head, chosen } = props;
  const stages = { 1: Scores, 2: Scaled, 7: Placed, 3: Masked, 4: Weights, 5: Context, 6: Joined } as const;
  const Stage = stages[choice.stage];
  return (
    <aside class="card stack inside-sum" aria-label={t("inside.arithmetic")}>
      <h2 class="inside-cell">
        <bdi class="tone-q" lang={head.rows[chosen.q].lang}>
          {head.rows[chosen.q].text}
        </bdi>
        <span class="faint">{"→"}</span>
        <bdi class="tone-k" lang={head.cols[chosen.k].lang}>
          {head.cols[chosen.k].text}
        </bdi>
      </h2>
      <Stage {...props} />
    </aside>
  );
}

/** Names with their values. */
const Facts = ({ of }: { of: readonly (readonly [string, string])[] }) => (
  <dl class="facts">{of.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}</dl>
);

const plain = (value: number) => shown(value, decimalsFor(value)).text;
const bits = (n: number) => t("attention.bits", { n: fixed(n, 2) });
const length = (vector: ArrayLike<number>) => `‖·‖ = ${shown(norm(vector), 3).text}`;
const dimension = (n: number) => t("inside.dimension", { n: n + 1 });

function Scores({ choice, head, chosen }: Props) {
  const parts = scoreParts(head, chosen);
  const score = head.scores.data[chosen.q * head.scores.cols + chosen.k];
  if (!addsUp(parts, score)) return <Whole head={head} score={score} />;
  const [q, k] = [row(head.q, chosen.q), row(head.k, chosen.k)];
  const on = dimensionOf(params.value, parts, dimensionsOf(parts, choice.all));
  const sum = sumOf(parts, score, { first: on, most: choice.all ? parts.length : 8 });
  return (
    <>
      <p class="small muted">{t(head.luong ? "inside.sum_scores_luong" : "inside.sum_scores", { d: head.d })}</p>
      <div class="inside-scroll">
        <SumList
          sum={sum}
          rest={t("inside.rest", { n: sum.rest?.count ?? 0 })}
          total={<b>{head.luong ? "e" : "q · k"}</b>}
          term={(n) => ({
            name: dimension(n),
            how: factors(q[n], k[n], shown(parts[n], sum.total.decimals)),
            on: n === on,
            onClick: () => setParams({ dim: n + 1 }),
          })}
        />
      </div>
    </>
  );
}

/** A score that is no plain product of what the trace holds: Luong's general and concat put weights of the model between. */
function Whole({ head, score }: { head: Head; score: number }) {
  return (
    <>
      <p class="small muted">{t(head.score === "concat" ? "inside.whole_concat" : "inside.whole_general", { d: head.d })}</p>
      <Equation parts={["e", "=", plain(score)]} />
    </>
  );
}

function Scaled({ head, chosen }: Props) {
  const at = chosen.q * head.scores.cols + chosen.k;
  const [score, scaled] = [head.scores.data[at], head.scaled.data[at]];
  const rowAt = {
    scores: row(head.scores, chosen.q),
    mask: head.mask.subarray(chosen.q * head.scores.cols, (chosen.q + 1) * head.scores.cols),
  };
  const same = Math.abs(score - scaled) < 1e-6 * Math.max(1, Math.abs(score));
  if (same && (head.unscaled || Math.abs(score) > 1e-4))
    return (
      <>
        <p class="small muted">{t(head.unscaled ? "inside.unscaled_model" : "inside.unscaled_edit")}</p>
        <Equation parts={[<b key="score">{plain(score)}</b>, "=", plain(scaled)]} />
      </>
    );
  const result = shown(scaled, decimalsFor(scaled));
  const root = Math.sqrt(head.d);
  const decimals = operandDecimals([score, root], (a, b) => a / b, result);
  const divisor = <span title={`√${head.d}`}>{Number.isInteger(root) ? String(root) : shown(root, decimals ?? 6).text}</span>;
  const with_ = entropy(softmax(row(head.scaled, chosen.q), rowAt.mask));
  const without = entropy(softmax(rowAt.scores, rowAt.mask));
  return (
    <>
      <Equation parts={[shown(score, decimals ?? 6).text, "÷", divisor, decimals === null ? "≈" : "=", result.text]} />
      <p class="small muted">{t("inside.root", { d: head.d, root: Number.isInteger(root) ? root : shown(root, 3).text })}</p>
      <Facts
        of={[
          [t("inside.entropy_with"), bits(with_)],
          [t("inside.entropy_without"), bits(without)],
        ]}
      />
    </>
  );
}

/** A learned number for the distance between two tokens, added to their score. */
function Placed({ head, chosen }: Props) {
  const at = chosen.q * head.scores.cols + chosen.k;
  const [scaled, bias, placed] = [head.scaled.data[at], head.bias?.data[at] ?? 0, head.placed.data[at]];
  const sum = sumOf([scaled, bias], placed);
  return (
    <>
      <SumList
        sum={sum}
        rest={t("inside.rounding")}
        total={<b>{t("inside.placed")}</b>}
        term={(n) => ({ name: t(n === 0 ? (head.unscaled ? "inside.scores" : "inside.scaled") : "inside.bias"), on: n === 1 })}
      />
      <p class="small muted">{t("inside.distance_note")}</p>
      <Facts of={[[t("inside.distance"), String(chosen.k - chosen.q)]]} />
    </>
  );
}

function Masked({ head, chosen }: Props) {
  const at = chosen.q * head.scores.cols + chosen.k;
  const value = plain(head.placed.data[at]);
  const open = head.mask[at] !== 0;
  const from = chosen.q * head.scores.cols;
  const seen = head.mask.subarray(from, from + head.scores.cols).reduce((n, m) => n + m, 0);
  return (
    <>
      <Equation parts={[value, "+", open ? "0" : "(−∞)", "=", open ? value : "−∞"]} />
      <p class="small muted">{t(open ? "inside.allowed" : "inside.forbidden")}</p>
      <Facts of={[[t("inside.keys_seen"), t("inside.of", { n: seen, all: head.cols.length })]]} />
    </>
  );
}

function Weights({ head, chosen }: Props) {
  const from = chosen.q * head.scores.cols;
  const mask = head.mask.subarray(from, from + head.scores.cols);
  const [scores, weights] = [row(head.placed, chosen.q), row(head.weights, chosen.q)];
  if (!mask[chosen.k]) return <Equation parts={["exp(−∞)", "=", "0"]} />;
  const computed = softmax(scores, mask);
  if (weights.some((w, i) => Math.abs(w - computed[i]) > 1e-4)) return <Edited value={weights[chosen.k]} />;
  const steps = softmaxSteps(scores, mask, chosen.k, weights[chosen.k]);
  return (
    <>
      <SoftmaxLines
        steps={steps}
        names={head.cols}
        at={chosen.k}
        rest={(n) => t("inside.rest_keys", { n })}
        onPick={(k) => setParams({ j: k })}
      />
      <Facts of={[[t("inside.entropy_row"), bits(entropy(weights))]]} />
    </>
  );
}

/** A number that an intervention put there. */
function Edited({ value }: { value: number }) {
  return (
    <>
      <p class="small muted">{t("inside.edited")}</p>
      <Equation parts={[plain(value)]} />
    </>
  );
}

function Context({ choice, head, chosen }: Props) {
  const own = valueParts(head, chosen);
  const on = dimensionOf(params.value, own, dimensionsOf(own, choice.all));
  const parts = keyParts(head, chosen.q, on);
  const total = head.context.data[chosen.q * head.d + on];
  if (!addsUp(parts, total)) return <Edited value={total} />;
  const weights = row(head.weights, chosen.q);
  const sum = sumOf(parts, total, { first: chosen.k });
  return (
    <>
      <p class="small muted">{t("inside.sum_context", { dim: on + 1 })}</p>
      <SumList
        sum={sum}
        rest={t("inside.rest_keys", { n: sum.rest?.count ?? 0 })}
        total={<b>{t("inside.context_dim", { n: on + 1 })}</b>}
        term={(k) => ({
          name: <bdi lang={head.cols[k].lang}>{head.cols[k].text}</bdi>,
          how: factors(weights[k], head.v.data[k * head.d + on], shown(parts[k], sum.total.decimals)),
          on: k === chosen.k,
          onClick: () => setParams({ j: k }),
        })}
      />
    </>
  );
}

function Joined({ manifest, choice, head, chosen }: Props) {
  const tensors = useTensors(head.luong || head.copy ? null : manifest.id, joinNeeds(choice));
  const out = row(head.out, chosen.q);
  if (head.copy)
    return (
      <>
        <p class="small muted">{t("attention.copied_note")}</p>
        <Facts
          of={[
            [t("attention.copied"), percent(out[0])],
            [t("inside.from_vocabulary"), percent(1 - out[0])],
          ]}
        />
        <Onward />
      </>
    );
  if (head.luong)
    return (
      <>
        <p class="small muted">{t("inside.join_luong", { d: head.d, out: head.out.cols })}</p>
        <Facts
          of={[
            [t("inside.context"), length(row(head.context, chosen.q))],
            [t("inside.state"), length(row(head.states ?? head.q, chosen.q))],
            [t("inside.attentional"), length(out)],
          ]}
        />
        <Onward />
      </>
    );
  const squares = (tensors.value ? contextsOf(choice, tensors.value) : [])
    .filter((one) => one.rows > chosen.q)
    .map((one) => norm(row(one, chosen.q)) ** 2);
  const sum = sumOf(
    squares,
    squares.reduce((a, b) => a + b, 0),
    { most: 16 },
  );
  return (
    <>
      <p class="small muted">{t("inside.join", { heads: choice.size.heads, d: head.d, all: choice.size.heads * head.d })}</p>
      {squares.length > 0 && (
        <SumList
          positive
          sum={sum}
          rest={t("inside.rest_heads", { n: sum.rest?.count ?? 0 })}
          total={<b>{t("inside.length_squared")}</b>}
          term={(h) => ({ name: t("inside.head_n", { n: h + 1 }), on: h === choice.head, onClick: () => setParams({ h: h + 1 }) })}
        />
      )}
      <p class="small muted">{t("inside.join_why")}</p>
      <Facts of={[[t("inside.out_length"), length(out)]]} />
      <Onward />
    </>
  );
}

const Onward = () => (
  <Link class="small" href={href("attention")}>
    {t("inside.to_attention")}
  </Link>
);
