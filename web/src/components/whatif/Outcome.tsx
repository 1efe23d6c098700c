/** What the interventions change: the words, the score, where the answers part. */
import type { TokenOut, WhatIfOut } from "../../api-types";
import { t } from "../../i18n";
import type { TableData } from "../../lib/csv";
import { fixed, percent, signed } from "../../lib/format";
import { wordDiff } from "../../lib/words";
import { model, params, setParams } from "../../state";
import { Switch } from "../controls";
import { Table } from "../Table";

/** One of two answers; words that the other lacks are marked. */
export function Marked({ text, other, kind }: { text: string; other: string; kind: "before" | "after" }) {
  return (
    <bdi dir="auto" lang={model.value?.target_language}>
      {text === "" ? (
        <span class="faint">{t("whatif.empty_answer")}</span>
      ) : (
        wordDiff(text, other).map((part, i) =>
          part.kind === "missing" ? null : part.kind === "same" ? (
            part.text
          ) : kind === "before" ? (
            <del key={i}>{part.text}</del>
          ) : (
            <ins key={i}>{part.text}</ins>
          ),
        )
      )}
    </bdi>
  );
}

const shown = (tokens: readonly TokenOut[], at: number) => tokens[at]?.text.trim() || "∅";

export function Outcome({ answer }: { answer: WhatIfOut }) {
  const { baseline, edited, first_divergence: first } = answer;
  const before = baseline.tokens.reduce((sum, token) => sum + token.logprob, 0);
  return (
    <div class="stack whatif-outcome" aria-live="polite">
      <dl class="whatif-texts">
        <dt>{t("whatif.before")}</dt>
        <dd>
          <Marked text={baseline.text} other={edited.text} kind="before" />
        </dd>
        <dt>{t("whatif.after")}</dt>
        <dd>
          <Marked text={edited.text} other={baseline.text} kind="after" />
        </dd>
      </dl>
      <dl class="whatif-facts">
        <dt>{t("whatif.score")}</dt>
        <dd>
          {fixed(edited.score, 2)} <span class="muted">({signed(edited.score - baseline.score, 2)})</span>
        </dd>
        <dt>{t("whatif.first")}</dt>
        <dd>
          {first === null
            ? t("whatif.same")
            : t("whatif.first_at", { n: first + 1, a: shown(baseline.tokens, first), b: shown(edited.tokens, first) })}
        </dd>
        <dt title={t("whatif.old_answer_note")}>{t("whatif.old_answer")}</dt>
        <dd title={t("whatif.old_answer_note")}>
          {fixed(answer.baseline_logprob_under_edit, 2)}{" "}
          <span class="muted">({signed(answer.baseline_logprob_under_edit - before, 2)})</span>
        </dd>
      </dl>
      <Switch
        label={t("whatif.pin")}
        on={params.value.pin !== undefined}
        onChange={(on) => setParams({ pin: on ? "edit" : null }, { push: true })}
      />
      <details>
        <summary>{t("whatif.by_token")}</summary>
        <Table data={tokenTable(answer)} label={t("whatif.by_token")} />
      </details>
    </div>
  );
}

/** Both answers token by token, side by side as the diff pairs them, each with its probability. */
function tokenTable(answer: WhatIfOut): TableData {
  const cells = (token: TokenOut | undefined) => (token ? [token.text.trim() || "␣", percent(Math.exp(token.logprob))] : ["", ""]);
  const rows = answer.diff.flatMap(({ a, b }) => {
    const [before, after] = [answer.baseline.tokens.slice(...a), answer.edited.tokens.slice(...b)];
    return Array.from({ length: Math.max(before.length, after.length) }, (_, i) => [...cells(before[i]), ...cells(after[i])]);
  });
  return { head: [t("whatif.before"), "p", t("whatif.after"), "p"], rows };
}
