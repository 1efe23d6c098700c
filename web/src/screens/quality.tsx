/** The quality screen: scores by source length with intervals, the sentences behind them, and the overall table. */
import { useMemo } from "preact/hooks";
import { getEval, getEvals } from "../api";
import type { EvalOut } from "../api-types";
import { CommandList } from "../components/Commands";
import { Select, Tabs } from "../components/controls";
import { Await, Empty } from "../components/states";
import { useResource } from "../hooks";
import { t } from "../i18n";
import { dataSets, labelsOf, type Judged } from "../lib/quality";
import { archOf, coloursOf } from "../lib/series";
import { local } from "../local/site";
import { models, params, setParams } from "../state";
import { ByLength } from "./quality/by_length";
import { Mistakes } from "./quality/mistakes";
import { Overall } from "./quality/overall";
import "../styles/quality.css";

export function Quality() {
  const evals = useResource("evals", getEvals);
  const view = params.value.v === "mistakes" && !local ? "mistakes" : "scores";
  return (
    <div class="screen quality">
      <header class="screen-head">
        <h1>{t("quality.title")}</h1>
        <p>{t("quality.lead")}</p>
      </header>
      {!local && (
        <Tabs
          label={t("quality.title")}
          value={view}
          onChange={(v) => setParams({ v: v === "mistakes" ? v : null }, { push: true })}
          choices={[
            { value: "scores", label: t("mistakes.scores") },
            { value: "mistakes", label: t("mistakes.tab") },
          ]}
        />
      )}
      <div role="tabpanel" aria-label={t(view === "mistakes" ? "mistakes.tab" : "mistakes.scores")}>
        {view === "mistakes" ? (
          <Mistakes />
        ) : (
          <Await of={evals} height={480}>
            {(cards) => (cards.length === 0 ? <Nothing /> : <Sets cards={cards} />)}
          </Await>
        )}
      </div>
    </div>
  );
}

function Nothing() {
  return (
    <div class="all">
      <div class="card">
        <Empty title={t("quality.empty_title")}>
          <p>{t("quality.empty_text")}</p>
          <CommandList
            commands={[
              [t("quality.empty_one"), "jumok evaluate --model runs/en-de --source test.en --target test.de"],
              [
                t("quality.empty_several"),
                "jumok evaluate -m runs/demo/rnn -m runs/demo/luong -m runs/demo/transformer --data dates-cjk --metric exact,chrf",
              ],
            ]}
          />
        </Empty>
      </div>
    </div>
  );
}

function Sets({ cards }: { cards: readonly EvalOut[] }) {
  const names = dataSets(cards);
  const data = names.find((name) => name === params.value.e) ?? names[0];
  const chosen = cards.filter((card) => card.data === data);
  const docs = useResource(`evals ${chosen.map((card) => card.id).join(" ")}`, (signal) =>
    Promise.all(chosen.map((card) => getEval(card.id, signal))),
  );
  const labels = labelsOf(chosen);
  const colours = coloursOf(chosen.map((card) => archOf(card.model, models.value ?? [])));
  const judged = useMemo(
    () =>
      (docs.value?.length === chosen.length
        ? chosen.map((card, i): Judged => ({ card, doc: docs.value![i], label: labels[i], colour: colours[i] }))
        : []
      ).filter((one, _, all) => one.doc.data.sha256 === all[0].doc.data.sha256),
    [docs.value, data, models.value],
  );
  const left = docs.value?.length === chosen.length ? chosen.length - judged.length : 0;
  return (
    <div class="all">
      <div class="row">
        <div class="data-set">
          {names.length > 1 ? (
            <Select
              label={t("quality.data")}
              value={data}
              onChange={(e) => setParams({ e, bin: null, vs: null }, { push: true })}
              choices={names.map((value) => ({ value, label: value }))}
            />
          ) : (
            <span class="muted small">
              {data}, {t("quality.n", { n: chosen[0].n })}
            </span>
          )}
        </div>
      </div>
      <Await of={docs} height={420}>
        {() =>
          judged.length > 0 && (
            <div class="all">
              <ByLength judged={judged} />
              <Overall judged={judged} />
              {left > 0 && (
                <p class="note">
                  {left} {t("quality.other_data", { n: left })}
                </p>
              )}
            </div>
          )
        }
      </Await>
    </div>
  );
}
