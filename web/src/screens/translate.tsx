/** The Translate screen: text in, text out as it is decoded, and the links between their tokens. */
import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Doubted } from "../components/Doubted";
import { GlossaryField } from "../components/GlossaryField";
import { PictureInput } from "../components/PictureInput";
import { Badge, Button, Select, Switch } from "../components/controls";
import { Link } from "../components/Link";
import { Failed } from "../components/states";
import { useTraceOf } from "../hooks";
import { languageOf, languagesOf, numbers, t } from "../i18n";
import { sourcesOf, targetsOf } from "../lib/directions";
import { readsDates } from "../lib/dates";
import { fixed, percent } from "../lib/format";
import { embedded } from "../embedded";
import { local } from "../local/site";
import type { Manifest, TraceSide, WordDoubtOut } from "../api-types";
import { doubtful, markedPieces } from "../lib/doubts";
import { offsets, toUtf16 } from "../lib/spans";
import { unsure } from "../lib/tokens";
import {
  direction,
  drawsOf,
  examples as ownExamples,
  glossary,
  href,
  model,
  ops,
  params,
  screen,
  seesPictures,
  sentenceIndex,
  sentences,
  setParams,
  source,
  taught,
  traceRequest,
} from "../state";
import { hovered, Strips } from "./translate_parts/Strips";
import { useLive, type LiveState } from "./translate_parts/live";
import { Landing } from "./translate_parts/Landing";
import { Strange } from "./translate_parts/Strange";
import { Votes } from "./translate_parts/Votes";
import "../styles/translate.css";

const BEAMS = ["1", "2", "4", "5", "8"];

export function Translate() {
  const live = useLive();
  const now = live.results[sentenceIndex.value];
  // the trace follows the stream, so that the two never decode at the same time
  const searched = embedded || ops.value.length > 0 || params.value.t;
  const card = model.value!;
  const together = card.members.length > 0; // an ensemble has no inside of its own to trace
  const trace = useTraceOf(!together && (searched || now?.done) ? traceOf(now?.text ?? "") : null);
  const manifest = trace.status === "error" ? null : trace.value;
  return (
    <div class="screen translate">
      <Landing />
      <Controls ms={now?.ms ?? manifest?.decode.ms ?? null} perToken={now?.perToken ?? manifest?.decode.score_per_token ?? null} />
      <div class="translate-texts">
        {seesPictures.value ? (
          <div class="card">
            <PictureInput />
          </div>
        ) : (
          <Input manifest={manifest} />
        )}
        <Output
          live={live}
          edited={searched ? (manifest?.target.text ?? "") : null}
          manifest={manifest}
          fresh={!searched || trace.status !== "loading"}
        />
      </div>
      {live.error && <Failed error={live.error} retry={live.retry} />}
      {trace.error && !live.error && <Failed error={trace.error} retry={trace.retry} />}
      {manifest && trace.status === "ready" && <Strange manifest={manifest} />}
      {together && !live.error && now?.done && now.text !== "" && (
        <Votes card={card} text={sentences.value[sentenceIndex.value] ?? ""} target={now.text} />
      )}
      {!together && !live.error && !trace.error && source.value.trim() !== "" && (
        <Strips manifest={manifest} live={now ?? null} fresh={trace.status === "ready"} />
      )}
      {manifest && (
        <nav class="row wide small" aria-label={t("translate.open_in")}>
          <span class="muted">{t("translate.open_in")}</span>
          {(["attention", "inside", "beam", "compare"] as const).map((name) => (
            <Link key={name} href={href(name)}>
              {t(`shell.screen_${name}`)}
            </Link>
          ))}
        </nav>
      )}
    </div>
  );
}

/** What is traced: the model's own answer, or with a glossary the one that keeps its terms. */
const traceOf = (text: string) =>
  glossary.value && traceRequest.value && text && ops.value.length === 0 && !params.value.t
    ? { ...traceRequest.value, target: text }
    : traceRequest.value;

const liveTyping = () => params.value.live !== "0";

function Controls({ ms, perToken }: { ms: number | null; perToken: number | null }) {
  const card = model.value!;
  const drawn = drawsOf(card);
  const own = String(card.decoding.beam ?? 4);
  const usual = drawn ? "" : own; // a model may choose among draws: any beam is then another way
  const beam = params.value.b ?? usual;
  const beams = [...new Set([...BEAMS, own, beam])].filter(Boolean).sort((a, b) => Number(a) - Number(b));
  const choices = [
    ...(drawn ? [{ value: "", label: t("translate.draws", { n: drawn }) }] : []),
    ...beams.map((value) => ({ value, label: value })),
  ];
  return (
    <header class="row wide">
      <h1>{seesPictures.value ? t("translate.title_picture") : t("translate.title")}</h1>
      {direction.value ? (
        <Languages />
      ) : (
        <span class="muted">{readsDates(card) ? t("translate.dates_in", { languages: languagesOf(card) }) : languagesOf(card)}</span>
      )}
      {!embedded && (
        <Select
          label={t("translate.beam")}
          value={beam}
          choices={choices}
          onChange={(value) => setParams({ b: value === usual ? null : value }, { push: true })}
        />
      )}
      {!embedded && !seesPictures.value && (
        <Switch label={t("translate.live")} on={liveTyping()} onChange={(on) => setParams({ live: on ? null : "0" })} />
      )}
      {!embedded && !local && !seesPictures.value && <GlossaryField />}
      <span class="grow" />
      <span class="small muted translate-speed">
        {ms !== null && <span>{t("translate.ms", { n: numbers.value.format(Number(ms.toPrecision(3))) })}</span>}
        {perToken !== null && <span>{t("translate.per_token", { score: fixed(perToken, 2) })}</span>}
      </span>
    </header>
  );
}

/** From which language into which, of a model that has several. */
function Languages() {
  const card = model.value!;
  const { source: from, target: to } = direction.value!;
  const choices = (codes: readonly string[]) => codes.map((value) => ({ value, label: languageOf(value) }));
  const choose = (d: string) => setParams({ d, t: null, px: null, w: null }, { push: true });
  return (
    <>
      <Select
        label={t("translate.from_language")}
        value={from}
        choices={choices(sourcesOf(card))}
        onChange={(value) => choose(`${value}>${to}`)}
      />
      <Select
        label={t("translate.to_language")}
        value={to}
        choices={choices(targetsOf(card, from))}
        onChange={(value) => choose(`${from}>${value}`)}
      />
    </>
  );
}

/** Which terms of the glossary a sentence has, and whether they are in its translation. */
function Terms({ live }: { live: LiveState }) {
  const terms = live.results.flatMap((result) => (result.done ? result.terms : []));
  if (terms.length === 0) return null;
  return (
    <p class="row small translate-terms">
      <span class="faint">{t("translate.terms")}</span>
      {terms.map((term, i) => (
        <Badge key={i} tone={term.present ? undefined : "warn"}>
          <bdi>{`${term.source} → ${term.targets.join(" | ")}`}</bdi>
          {!term.present && ` · ${t("translate.term_missed")}`}
        </Badge>
      ))}
    </p>
  );
}

/** The source text; a pause of 250 ms in typing writes it into the address, which translates it. */
function Input({ manifest }: { manifest: Manifest | null }) {
  const [draft, setDraft] = useState(source.value);
  const write = (text: string, push = false) =>
    setParams({ s: text === "" ? " " : text, t: null, px: null, i: null, q: null, j: null, w: null }, { push });
  useEffect(() => {
    if (draft.trim() !== source.value.trim()) setDraft(source.value);
  }, [source.value]);
  useEffect(() => {
    if (!liveTyping() || draft === source.value || (draft === "" && source.value === " ")) return;
    const timer = setTimeout(() => screen.value === "translate" && write(draft), 250);
    return () => clearTimeout(timer);
  }, [draft]);
  const examples = exampleTexts();
  return (
    <div class="card translate-source">
      <div class="translate-field">
        <p class="backdrop" aria-hidden="true" dir="auto">
          <Marked text={draft} side={manifest?.source ?? null} token={hovered.value?.side === "source" ? hovered.value.token : null} />
        </p>
        <textarea
          data-input
          dir="auto"
          rows={2}
          lang={model.value?.source_language}
          aria-label={t("translate.source")}
          placeholder={readsDates(model.value) ? t("translate.placeholder_date") : t("translate.placeholder")}
          value={draft.trimStart() === "" ? "" : draft}
          readOnly={embedded !== null || taught.value}
          spellcheck={false}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) write(draft, true);
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </div>
      <div class="row">
        {!liveTyping() && (
          <Button kind="primary" onClick={() => write(draft, true)}>
            {t("translate.run")}
          </Button>
        )}
        {examples.length > 0 && <span class="small faint">{t("translate.examples")}</span>}
        {examples.map((text) => (
          <button
            key={text}
            type="button"
            class="chip"
            lang={model.value?.source_language}
            onClick={() => {
              setDraft(text);
              write(text, true);
            }}
          >
            <bdi class="clip">{text}</bdi>
          </button>
        ))}
      </div>
    </div>
  );
}

/** Texts to choose from: the model's examples, or in an exported file those that it holds. */
function exampleTexts(): readonly string[] {
  const card = model.value;
  if (!card || taught.value) return [];
  if (!embedded) return ownExamples.value.slice(0, 3);
  const texts = new Set(embedded.traces.filter((trace) => trace.model.name === card.name).map((trace) => trace.source.text));
  return texts.size > 1 ? [...texts] : [];
}

/** The translation of every sentence; a click makes a sentence the one that is drawn. */
function Output({ live, edited, manifest, fresh }: { live: LiveState; edited: string | null; manifest: Manifest | null; fresh: boolean }) {
  const token = hovered.value?.side === "target" ? hovered.value.token : null;
  const lang = model.value?.target_language;
  const several = sentences.value.length > 1;
  const texts =
    edited !== null
      ? sentences.value.map((_, i) => (i === sentenceIndex.value ? edited : ""))
      : sentences.value.map((_, i) => live.results[i]?.text ?? "");
  const now = live.results[sentenceIndex.value];
  // what a calibration says holds for texts like those that it was made with
  const strange = manifest !== null && unsure(manifest.decode, model.value?.lowest_score ?? null) !== null;
  const doubts = (i: number) => (edited === null && live.results[i]?.done ? doubtful(live.results[i].confidence) : []);
  return (
    <div
      class="card translate-output"
      aria-label={t("translate.output")}
      role="region"
      aria-live="polite"
      aria-busy={now !== undefined && !now.done && !live.error}
    >
      <p class={fresh ? "translate-text" : "translate-text stale"} lang={lang} dir="auto">
        {texts.every((text) => text === "") && (
          <span class="faint">{emptyText(now?.done === true || (edited !== null && manifest !== null))}</span>
        )}
        {texts.map((text, i) =>
          several ? (
            <button
              key={i}
              type="button"
              class={i === sentenceIndex.value ? "sentence on" : "sentence"}
              aria-pressed={i === sentenceIndex.value}
              aria-label={`${t("translate.sentence", { n: i + 1 })}: ${text}`}
              onClick={() => setParams({ i: i || null, q: null, j: null }, { push: true })}
            >
              <bdi>
                {text === "" ? (
                  "…"
                ) : (
                  <Marked
                    text={text}
                    side={i === sentenceIndex.value ? (manifest?.target ?? null) : null}
                    token={i === sentenceIndex.value ? token : null}
                    doubts={doubts(i)}
                  />
                )}
              </bdi>
            </button>
          ) : (
            <bdi key={i}>
              <Marked text={text} side={manifest?.target ?? null} token={token} doubts={doubts(i)} />
            </bdi>
          ),
        )}
      </p>
      {edited === null && now?.done && now.confidence && now.confidence.words.length > 0 && !strange && (
        <Doubts text={now.text} doubts={doubtful(now.confidence)} change={now.confidence.change} />
      )}
      <Terms live={live} />
      {several && <p class="small faint">{t("translate.sentences", { n: sentences.value.length })}</p>}
    </div>
  );
}

/** What stands in place of a translation: that there is none, or that it will stand here. */
function emptyText(done: boolean): string {
  if (done) return t("translate.no_answer");
  if (seesPictures.value) return t("translate.empty_picture");
  return readsDates(model.value) ? t("translate.empty_date") : t("translate.empty");
}

/** What the dotted lines mean, and the doubtful words in a list: for who cannot see or hover over them. */
function Doubts({ text, doubts, change }: { text: string; doubts: readonly WordDoubtOut[]; change: number }) {
  const points = [...text];
  return (
    <p class="small muted doubts">
      {doubts.length > 0 ? t("translate.doubts") : t("translate.no_doubts")}{" "}
      {doubts.map((word, n) => (
        <Fragment key={n}>
          <bdi class="doubted" lang={model.value?.target_language}>
            {points.slice(...word.text).join("")}
          </bdi>
          {`\u00a0${percent(word.change)}${n < doubts.length - 1 ? "," : "."} `}
        </Fragment>
      ))}
      {t("translate.doubt_whole", { share: percent(change) })}
    </p>
  );
}

interface MarkedProps {
  text: string;
  side: TraceSide | null;
  token: number | null;
  doubts?: readonly WordDoubtOut[];
}

/** A text with the span of one token of its sentence marked, and its doubtful words underlined. */
function Marked({ text, side, token, doubts = [] }: MarkedProps) {
  const pieces = markedPieces(text, tokenRange(text, side, token), doubts);
  return (
    <>
      {pieces.map(({ text, marked, change }, n) => {
        const inside = change === null ? text : <Doubted change={change}>{text}</Doubted>;
        return marked ? <mark key={n}>{inside}</mark> : inside;
      })}
    </>
  );
}

/** Where a token of the sentence stands in the text, without the space before it. */
function tokenRange(text: string, side: TraceSide | null, token: number | null): [number, number] | null {
  const span = token === null ? null : (side?.tokens[token]?.span ?? null);
  const from = side && span ? text.indexOf(side.text) : -1;
  if (!span || from < 0) return null;
  const [start, end] = toUtf16(offsets(side!.text), span).map((at) => at + from);
  return [start + (/^\s*/.exec(text.slice(start, end))?.[0].length ?? 0), end];
}
