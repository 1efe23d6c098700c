/** What the interventions change: the words, the score, where the answers part. */
import type { OutToken, WhatIfAnswer } from "../../api-types";
import { t } from "../../i18n";
import { fixed, percent, signed } from "../../lib/format";
import { wordDiff } from "../../lib/words";
import { model, params, setParams } from "../../state";
import { Switch } from "../controls";

/** One of two answers; words that the other lacks are marked. */
export function Marked({ text, other, kind }: { text: string; other: string; kind: "before" | "after" }) {
  return (
    <bdi dir="auto" lang={model.value?.target_language}>
      {text === "" ? <span class="faint">{t("whatif.empty_answer")}</span> : wordDiff(text, other).map((part, i) =>
        part.kind === "missing" ? null : part.kind === "same" ? part.text : kind === "before" ? <del key={i}>{part.text}</del> : <ins key={i}>{part.text}</ins>)}
    </bdi>
  );
}

const shown = (tokens: readonly OutToken[], at: number) => tokens[at]?.text.trim() || "∅";

export function Outcome({ answer }: { answer: WhatIfAnswer }) {
  const { baseline, edited, first_divergence: first } = answer;
  const before = baseline.tokens.reduce((sum, token) => sum + token.logprob, 0);
  return (
    <div class="stack whatif-outcome" aria-live="polite">
      <dl class="whatif-texts">
        <dt>{t("whatif.before")}</dt>
        <dd><Marked text={baseline.text} other={edited.text} kind="before" /></dd>
        <dt>{t("whatif.after")}</dt>
        <dd><Marked text={edited.text} other={baseline.text} kind="after" /></dd>
      </dl>
      <dl class="whatif-facts">
        <dt>{t("whatif.score")}</dt>
        <dd>
          {fixed(edited.score, 2)} <span class="muted">({signed(edited.score - baseline.score, 2)})</span>
        </dd>
        <dt>{t("whatif.first")}</dt>
        <dd>{first === null ? t("whatif.same") : t("whatif.first_at", { n: first + 1, a: shown(baseline.tokens, first), b: shown(edited.tokens, first) })}</dd>
        <dt title={t("whatif.old_answer_note")}>{t("whatif.old_answer")}</dt>
        <dd title={t("whatif.old_answer_note")}>
          {fixed(answer.baseline_logprob_under_edit, 2)} <span class="muted">({signed(answer.baseline_logprob_under_edit - before, 2)})</span>
        </dd>
      </dl>
      <Switch label={t("whatif.pin")} on={params.value.pin !== undefined} onChange={(on) => setParams({ pin: on ? "edit" : null }, { push: true })} />
      <details>
        <summary>{t("whatif.by_token")}</summary>
        <Tokens answer={answer} />
      </details>
    </div>
  );
}

/** Both answers token by token, side by side as the diff pairs them, each with its probability. */
function Tokens({ answer }: { answer: WhatIfAnswer }) {
  const rows = answer.diff.flatMap(({ op, a, b }) =>
    Array.from({ length: Math.max(a[1] - a[0], b[1] - b[0]) }, (_, i) => ({ op, a: a[0] + i < a[1] ? answer.baseline.tokens[a[0] + i] : null, b: b[0] + i < b[1] ? answer.edited.tokens[b[0] + i] : null })),
  );
  const cells = (token: OutToken | null) => [<td key="text"><bdi>{token ? token.text.trim() || "␣" : ""}</bdi></td>, <td key="p" class="num muted">{token ? percent(Math.exp(token.logprob)) : ""}</td>];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("whatif.by_token")}>
      <table class="data whatif-tokens" lang={model.value?.target_language}>
        <thead>
          <tr>
            <th scope="col" colSpan={2}>{t("whatif.before")}</th>
            <th scope="col" colSpan={2}>{t("whatif.after")}</th>
          </tr>
        </thead>
        <tbody>{rows.map((row, i) => <tr key={i} class={row.op === "equal" ? undefined : "changed"}>{cells(row.a)}{cells(row.b)}</tr>)}</tbody>
      </table>
    </div>
  );
}

