/** The Compare screen: one sentence through two or three models, and the same sentence as it grows. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Card, CompareOut } from "../api-types";
import { compare } from "../api";
import { Button, Segmented } from "../components/controls";
import { Icon } from "../components/Icon";
import { Link } from "../components/Link";
import { Patches } from "../components/Patches";
import { NoText } from "../components/NoText";
import { Await, Empty } from "../components/states";
import { embedded } from "../embedded";
import { useResource, type Resource } from "../hooks";
import { languagesOf, t } from "../i18n";
import { byDirection, chosenModels, cutsOf, inOrder, MOST_MODELS, sameText, sameWay, switched, whole } from "../lib/compare";
import { grownDates, readsDates } from "../lib/dates";
import { go, href, model, models, ops, options, params, seesPictures, sentence, setParams, whatIfOpen } from "../state";
import { Column, type Hover } from "./compare_parts/Column";
import { Grow } from "./compare_parts/Grow";
import { GrowDates } from "./compare_parts/GrowDates";
import { markedTexts, scoresAt } from "./compare_parts/view";
import "../styles/compare.css";

export function Compare() {
  const chosen = chosenModels(
    params.value.ms,
    (models.value ?? []).filter((card) => (card.source === "image") === seesPictures.value),
    model.value,
  );
  const names = chosen.map((card) => card.name);
  const stray = chosen.length >= 2 && !embedded && model.value !== null && !names.includes(model.value.name);
  useEffect(() => {
    if (stray) setParams({ m: names[0], t: null }); // the bar above names a model that is compared
  }, [stray, names.join()]);
  return (
    <div class="screen compare">
      <header class="screen-head">
        <h1>{t("compare.title")}</h1>
        <p class="small">{t("compare.intro")}</p>
      </header>
      {chosen.length < 2 ? <OneModel /> : <Body chosen={chosen} />}
    </div>
  );
}

/** With one model there is nothing to put beside it, except itself changed. */
function OneModel() {
  const others = (models.value ?? []).length > 1;
  return (
    <div class="card">
      <Empty title={others ? t("compare.one_fitting", { model: model.value?.name ?? "" }) : t("compare.one_title")}>
        <p>{embedded ? t("compare.one_file") : t("compare.one_text")}</p>
        {!others && !embedded && <code>{"jumok serve runs/rnn runs/transformer"}</code>}
        <div class="row">
          {others && !embedded && (
            <button
              type="button"
              class="btn"
              onClick={() =>
                setParams(
                  {
                    ms: inOrder(models.value!)
                      .slice(0, MOST_MODELS)
                      .map((card) => card.name)
                      .join(","),
                  },
                  { push: true },
                )
              }
            >
              {t("compare.one_anyway")}
            </button>
          )}
          {!embedded && (
            <button
              type="button"
              class="btn"
              onClick={() => {
                go("attention");
                whatIfOpen.value = true;
              }}
            >
              {t("compare.one_whatif")}
            </button>
          )}
          <Link class="btn" href={href("beam")}>
            {t("compare.one_beam")}
          </Link>
        </div>
      </Empty>
    </div>
  );
}

/** A comparison; the answer never changes for the same question. */
function useCompare(body: object | null): Resource<CompareOut> {
  return useResource(body && "compare " + JSON.stringify(body), (signal) => compare(body!, signal), { cache: true });
}

function Body({ chosen }: { chosen: readonly Card[] }) {
  const reference = (params.value.ref ?? "").trim();
  const { prefix: _, ...settings } = options.value;
  const ask = (text: string, extra: object) => ({ models: chosen.map((card) => card.name), text, ...settings, ...extra });
  const given = reference ? { reference } : {};
  const text = sentence.value.trim();
  const whole = useCompare(text === "" ? null : ask(text, given));
  const words = whole.value?.source.words ?? [];
  const dates = !embedded && chosen.every(readsDates);
  const cuts = text !== "" && whole.status === "ready" && !seesPictures.value && !dates ? cutsOf(words.length) : [];
  const grown = useCompare(cuts.length > 0 ? ask(text, { ...given, cuts }) : null);
  const cut = Number(params.value.cut ?? NaN);
  const part = Number.isInteger(cut) && cut >= 1 && cut < words.length ? cut : null;
  const stand = grown.value?.grow.find((entry) => entry.words === part);
  const ready = part !== null && (stand !== undefined || grown.status === "error");
  const begun = useCompare(
    ready
      ? ask(stand?.source ?? words.slice(0, part).join(" "), reference && stand?.reference ? { reference: stand.reference } : {})
      : null,
  );
  const shown =
    part === null
      ? whole
      : { ...begun, status: begun.status === "idle" ? ("loading" as const) : begun.status, value: begun.value ?? whole.value };
  return (
    <>
      {!embedded && <Controls chosen={chosen} />}
      {ops.value.length > 0 && <p class="note">{t("compare.no_ops")}</p>}
      <Await of={shown} height={420} empty={<NoText />}>
        {(answer) => (
          <Columns
            answer={answer}
            words={words}
            part={part}
            cards={chosen}
            grown={grown.value}
            reference={reference && (part === null ? reference : (stand?.reference ?? ""))}
          />
        )}
      </Await>
      {dates && <GrowDates chosen={chosen} />}
      {words.length === 1 && !dates && <p class="note">{t("compare.grow_short")}</p>}
      {cuts.length > 0 && (
        <Await of={grown} height={320}>
          {(answer) => <Grow answer={answer} part={part} reference={reference !== ""} />}
        </Await>
      )}
    </>
  );
}

/** Some date with its right answer, so that answers can be told right or wrong. */
function anotherDate(): void {
  const dates = grownDates(Math.floor(Math.random() * 1e6), 1);
  const { text, iso } = dates[Math.floor(Math.random() * dates.length)];
  setParams({ s: text, ref: iso, cut: null, i: null }, { push: true });
}

function Controls({ chosen }: { chosen: readonly Card[] }) {
  const [draft, setDraft] = useState(params.value.ref ?? "");
  useEffect(() => setDraft(params.value.ref ?? ""), [params.value.ref]);
  const commit = () => draft.trim() !== (params.value.ref ?? "") && setParams({ ref: draft.trim() || null }, { push: true });
  const names = chosen.map((card) => card.name);
  const fitting = (models.value ?? []).filter((card) => card.source === chosen[0].source);
  const groups = byDirection(fitting).filter((group) => group.length > 1 || names.includes(group[0].name));
  const switchOne = (card: Card) => {
    const begun = chosen.every((one) => !sameWay(one, card)) ? { m: card.name, t: null, ref: null, cut: null } : {};
    setParams({ ms: switched(chosen, fitting, card).join(","), ...begun }, { push: true });
  };
  return (
    <div class="compare-controls">
      {fitting.length > 2 &&
        groups.map((group) => <Direction key={group[0].name} cards={inOrder(group)} names={names} onSwitch={switchOne} />)}
      <form
        class="field compare-reference"
        onSubmit={(event) => {
          event.preventDefault();
          commit();
        }}
      >
        <label for="compare-reference">{t("compare.reference")}</label>
        <input
          id="compare-reference"
          class="input"
          dir="auto"
          type="text"
          lang={chosen[0].target_language}
          placeholder={t("compare.reference_hint")}
          value={draft}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onBlur={commit}
        />
      </form>
      {chosen.every(readsDates) && (
        <Button onClick={anotherDate}>
          <Icon name="again" size={16} />
          {t("compare.another_date")}
        </Button>
      )}
      <div class="field">
        <span aria-hidden="true">{t("compare.rows_short")}</span>
        <Segmented
          label={t("compare.rows")}
          value={params.value.u === "words" ? "words" : "pieces"}
          choices={[
            { value: "pieces", label: t("attention.tokens") },
            { value: "words", label: t("attention.words") },
          ]}
          onChange={(u) => setParams({ u: u === "words" ? "words" : null }, { push: true })}
        />
      </div>
    </div>
  );
}

/** The models of one direction, to switch on and off. */
function Direction({ cards, names, onSwitch }: { cards: readonly Card[]; names: readonly string[]; onSwitch(card: Card): void }) {
  const languages = languagesOf(cards[0]);
  const title = readsDates(cards[0]) ? t("translate.dates_in", { languages }) : languages || t("compare.models");
  return (
    <div class="row" role="group" aria-label={title}>
      <span class="small muted">{title}</span>
      {cards.map((card) => (
        <button
          key={card.name}
          type="button"
          class={names.includes(card.name) ? "chip on" : "chip"}
          aria-pressed={names.includes(card.name)}
          title={t(`shell.arch_${card.arch}`)}
          onClick={() => onSwitch(card)}
        >
          {card.name}
        </button>
      ))}
    </div>
  );
}

interface ColumnsProps {
  answer: CompareOut;
  words: readonly string[];
  part: number | null;
  cards: readonly Card[];
  grown: CompareOut | null;
  reference: string;
}

function Columns({ answer, words, part, cards, grown, reference }: ColumnsProps) {
  const [hover, setHover] = useState<Hover | null>(null);
  const most = useMemo(() => Math.max(0.1, ...answer.results.flatMap((result) => result.influence.values.flat()).map(Math.abs)), [answer]);
  const marks = useMemo(() => markedTexts(answer, reference), [answer, reference]);
  const scores = scoresAt(answer, grown, part ?? words.length, reference !== "");
  const lang = cards[0].source_language;
  return (
    <div class="stack compare-stack">
      <div class="compare-source">
        {seesPictures.value ? (
          <Seen answer={answer} hover={hover} onHover={setHover} />
        ) : (
          <ol class="compare-words" lang={lang} aria-label={t("compare.source")} onPointerLeave={() => setHover(null)}>
            {words.map((word, i) => (
              <li key={i}>
                <button
                  type="button"
                  class={hover?.word === i ? "on" : undefined}
                  disabled={part !== null && i >= part}
                  onPointerEnter={() => setHover({ word: i, row: null, from: null })}
                  onFocus={() => setHover({ word: i, row: null, from: null })}
                  onBlur={() => setHover(null)}
                >
                  <bdi>{whole(word)}</bdi>
                </button>
              </li>
            ))}
          </ol>
        )}
        {part !== null && (
          <div class="row">
            <span class="badge warn">{t("compare.first_words", { n: part, all: words.length })}</span>
            <Button onClick={() => setParams({ cut: null }, { push: true })}>{t("compare.whole")}</Button>
          </div>
        )}
      </div>
      <p class="note">
        {answer.results.every((result) => result.text === answer.results[0].text)
          ? t("compare.agreed")
          : reference
            ? t("compare.marked_reference")
            : answer.results.length > 2
              ? t("compare.marked_three")
              : t("compare.marked")}{" "}
        {seesPictures.value ? t("compare.hover_patch") : t("compare.hover")}
      </p>
      <div class={`compare-columns of-${answer.results.length}`}>
        {answer.results.map((result, i) => (
          <Column
            key={result.model}
            result={result}
            text={sentenceOf(answer, words, part)}
            marks={marks[i]}
            right={reference ? sameText(result.text, reference) : null}
            chrf={scores[i]}
            most={most}
            hover={hover}
            onHover={setHover}
          />
        ))}
      </div>
    </div>
  );
}

/** The picture in place of the words: a patch under the pointer is marked in every column. */
function Seen({ answer, hover, onHover }: { answer: CompareOut; hover: Hover | null; onHover(hover: Hover | null): void }) {
  const side = Math.round(Math.sqrt(answer.source.words.length));
  const url = sentenceOf(answer, [], null);
  return (
    <Patches
      name={t("compare.source")}
      image={{ url, rows: side, columns: side }}
      size={200}
      active={hover?.word ?? null}
      onActive={(word) => onHover(word === null ? null : { word, row: null, from: null })}
    />
  );
}

/** The text the columns were asked for, to ask again when a trace has left the server's memory. */
const sentenceOf = (answer: CompareOut, words: readonly string[], part: number | null): string =>
  (answer.source as { text?: string }).text ?? (part === null ? sentence.value.trim() : words.slice(0, part).join(" "));
