/** Mistakes: of a test set that is pasted, dropped or stored, which kinds there are, and the way from each to its why. */
import { useRef, useState } from "preact/hooks";
import { getEval, getEvals } from "../../api";
import type { MistakesDocument, WrongLinePart } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Button, Select } from "../../components/controls";
import { Link } from "../../components/Link";
import { Await, Failed, Loading } from "../../components/states";
import { useResource } from "../../hooks";
import { locale, t } from "../../i18n";
import { columnsOf, MISTAKES, shownLines, type Cause, type Filter, type MistakeKind } from "../../lib/mistakes";
import { sizeText } from "../../lib/sizes";
import { wordDiff } from "../../lib/words";
import { href, model, params, seesPictures, setParams } from "../../state";
import { leave, look, looking, mistakesOf, pasted } from "./looking";

const CAUSES: readonly Cause[] = ["search", "model"];
const PAGE = 20;
const BIGGEST = 1 << 20;

export function Mistakes() {
  const stored = params.value.mi;
  return (
    <div class="all mistakes">
      <p>{t("mistakes.lead")}</p>
      <Stored />
      {stored ? <OfStored id={stored} /> : <Own />}
    </div>
  );
}

function Stored() {
  const evals = useResource("evals", getEvals);
  const cards = evals.value ?? [];
  if (cards.length === 0) return null;
  return (
    <Select
      label={t("mistakes.stored")}
      value={params.value.mi ?? ""}
      onChange={(mi) => setParams({ mi }, { push: true })}
      choices={[
        { value: "", label: t("mistakes.none") },
        ...cards.map((card) => ({ value: card.id, label: `${card.model}, ${card.data}` })),
      ]}
    />
  );
}

function OfStored({ id }: { id: string }) {
  const found = useResource(`mistakes ${id}`, async (signal) => {
    const doc = await getEval(id, signal);
    return { doc, mistakes: await mistakesOf(doc, signal) };
  });
  return (
    <Await of={found} height={320}>
      {({ doc, mistakes }) => (
        <>
          {!doc.mistakes && <p class="note">{t("mistakes.of_examples")}</p>}
          <Found key={id} found={mistakes} model={doc.model} />
        </>
      )}
    </Await>
  );
}

/** The reader's own pairs: pasted, dropped or from a file. */
function Own() {
  const card = model.value;
  const now = looking.value;
  const [error, setError] = useState("");
  const file = useRef<HTMLInputElement>(null);
  if (!card) return null;
  const take = async (one: File | undefined) => {
    if (!one) return;
    if (one.size > BIGGEST) return setError(t("mistakes.too_big", { size: sizeText(BIGGEST, locale.value) }));
    setError("");
    pasted.value = await one.text();
  };
  const { pairs, odd } = columnsOf(pasted.value.slice(0, BIGGEST));
  const most = card.limits.lines ?? 1000;
  const busy = now !== null && !now.found && !now.error;
  return (
    <>
      <section
        class="card stack mistakes-own"
        aria-label={t("mistakes.own")}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          void take(event.dataTransfer?.files[0]);
        }}
      >
        <h2>{t("mistakes.own")}</h2>
        <p class="note">{t("mistakes.own_hint")}</p>
        <textarea
          class="input"
          rows={6}
          spellcheck={false}
          dir="auto"
          aria-label={t("mistakes.columns")}
          value={pasted.value}
          onInput={(event) => (pasted.value = event.currentTarget.value)}
        />
        <div class="row">
          <Button
            kind="primary"
            disabled={pairs.length === 0 || busy || seesPictures.value}
            onClick={() => void look(card, pairs.slice(0, most))}
          >
            {t("mistakes.run", { model: card.name })}
          </Button>
          <Button onClick={() => file.current?.click()}>{t("mistakes.choose")}</Button>
          <input
            ref={file}
            type="file"
            hidden
            aria-label={t("mistakes.choose")}
            onChange={(event) => {
              void take(event.currentTarget.files?.[0]);
              event.currentTarget.value = "";
            }}
          />
          {busy && (
            <Button kind="quiet" onClick={leave}>
              {t("mistakes.stop")}
            </Button>
          )}
          {pasted.value.trim() !== "" && <span class="small muted">{t("mistakes.pairs", { n: pairs.length })}</span>}
        </div>
        {odd.length > 0 && (
          <p class="note">{t("mistakes.odd", { n: odd.length, lines: odd.slice(0, 8).join(", ") + (odd.length > 8 ? ", …" : "") })}</p>
        )}
        {pairs.length > most && <p class="note">{t("mistakes.too_many", { n: most })}</p>}
        {error && <p role="alert">{error}</p>}
        {busy && (
          <div role="status">
            <progress max={now.all} value={now.done} aria-label={t("mistakes.translating", { n: now.done, all: now.all })} />{" "}
            <span class="small">{now.scoring ? t("mistakes.scoring") : t("mistakes.translating", { n: now.done, all: now.all })}</span>
          </div>
        )}
      </section>
      {now?.error && <Failed error={now.error} />}
      {busy && <Loading height={160} />}
      {now?.found && <Found key={now.model} found={now.found} model={now.model} />}
    </>
  );
}

function Found({ found, model: of }: { found: MistakesDocument; model: string }) {
  const [filter, setFilter] = useState<Filter>({});
  const set = (patch: Filter) => {
    const next = { ...filter, ...patch };
    const same = Object.entries(patch).every(([name, value]) => filter[name as keyof Filter] === value);
    setFilter(same ? { ...filter, ...Object.fromEntries(Object.keys(patch).map((name) => [name, undefined])) } : next);
  };
  if (found.lines.length === 0) return <p class="card">{t("mistakes.perfect")}</p>;
  const chip = (patch: Filter, on: boolean, label: string, count: number, about: string) => (
    <button key={label} type="button" class={on ? "chip on" : "chip"} aria-pressed={on} title={about} onClick={() => set(patch)}>
      {label} <b>{count}</b>
    </button>
  );
  return (
    <>
      <section class="card stack" aria-label={t("mistakes.kinds")}>
        <h2>{t("mistakes.found", { wrong: found.lines.length, n: found.n })}</h2>
        <div class="row">
          {MISTAKES.filter((kind) => found.kinds[kind]).map((kind) =>
            chip({ kind }, filter.kind === kind, t(`mistakes.kind_${kind}`), found.kinds[kind]!, t(`mistakes.about_${kind}`)),
          )}
        </div>
        {Object.keys(found.causes).length > 0 && (
          <div class="row">
            <span class="small muted">{t("mistakes.causes")}</span>
            {CAUSES.filter((cause) => found.causes[cause]).map((cause) =>
              chip({ cause }, filter.cause === cause, t(`mistakes.cause_${cause}`), found.causes[cause]!, t(`mistakes.about_${cause}`)),
            )}
          </div>
        )}
        <ul class="note">
          {MISTAKES.filter((kind) => filter.kind === kind).map((kind) => (
            <li key={kind}>{t(`mistakes.about_${kind}`)}</li>
          ))}
          {filter.cause && <li>{t(`mistakes.about_${filter.cause}`)}</li>}
          {found.cut > 0 && <li>{t("mistakes.cut", { n: found.cut })}</li>}
        </ul>
      </section>
      <div class="mistakes-two">
        <ByLength found={found} filter={filter} set={set} />
        <ByWord found={found} filter={filter} set={set} />
      </div>
      <Lines found={found} filter={filter} model={of} clear={() => setFilter({})} />
    </>
  );
}

interface PartProps {
  found: MistakesDocument;
  filter: Filter;
  set(patch: Filter): void;
}

/** A row that can be chosen, with a bar for its share. */
function Row({
  on,
  share,
  label,
  text,
  more,
  choose,
}: {
  on: boolean;
  share: number;
  label: string;
  text: string;
  more?: string;
  choose(): void;
}) {
  return (
    <li>
      <button type="button" class={on ? "mistakes-row on" : "mistakes-row"} aria-pressed={on} onClick={choose}>
        <bdi class="clip">{label}</bdi>
        <span class="num">{text}</span>
        {more && <bdi class="small muted">{more}</bdi>}
        <i style={{ width: `${Math.max(1, share * 100)}%` }} />
      </button>
    </li>
  );
}

function ByLength({ found, filter, set }: PartProps) {
  const label = (part: MistakesDocument["lengths"][number]) =>
    part.hi === null ? `${part.lo}+` : part.hi === part.lo ? String(part.lo) : `${part.lo}–${part.hi}`;
  const unit = found.unit === "source_words" ? t("quality.unit_source_words") : t("quality.unit_source_characters");
  return (
    <Figure
      words
      title={t("mistakes.by_length")}
      file="mistakes-by-length"
      caption={unit}
      table={() => ({
        head: [unit, t("mistakes.sentences"), t("mistakes.wrong"), ...MISTAKES.map((kind) => t(`mistakes.kind_${kind}`))],
        rows: found.lengths.map((part) => [label(part), part.n, part.wrong, ...MISTAKES.map((kind) => part.kinds[kind] ?? 0)]),
      })}
    >
      <ul>
        {found.lengths.map((part) => (
          <Row
            key={part.lo}
            on={filter.lo === part.lo}
            share={part.wrong / Math.max(1, part.n)}
            label={label(part)}
            text={t("mistakes.share", { wrong: part.wrong, n: part.n })}
            choose={() => set({ lo: part.lo })}
          />
        ))}
      </ul>
    </Figure>
  );
}

function ByWord({ found, filter, set }: PartProps) {
  const most = Math.max(1, ...found.words.map((one) => one.missed + one.extra));
  const instead = (one: MistakesDocument["words"][number]) => one.instead.map(([word, n]) => `${word} ${n}`).join(", ");
  return (
    <Figure
      words
      title={t("mistakes.by_word")}
      file="mistakes-by-word"
      table={() => ({
        head: [t("mistakes.word"), t("mistakes.times"), t("mistakes.missed"), t("mistakes.extra_head"), t("mistakes.instead")],
        rows: found.words.map((one) => [one.word, one.times, one.missed, one.extra, instead(one)]),
      })}
    >
      <ul class="mistakes-words" tabIndex={0} aria-label={t("mistakes.by_word")}>
        {found.words.map((one) => (
          <Row
            key={one.word}
            on={filter.word === one.word}
            share={(one.missed + one.extra) / most}
            label={one.word}
            text={[
              one.missed > 0 && t("mistakes.missed_of", { missed: one.missed, times: one.times }),
              one.extra > 0 && t("mistakes.extra", { n: one.extra }),
            ]
              .filter(Boolean)
              .join(" · ")}
            more={one.instead.length > 0 ? t("mistakes.instead_of", { words: instead(one) }) : undefined}
            choose={() => set({ word: one.word })}
          />
        ))}
      </ul>
    </Figure>
  );
}

/** The answers that fit what is chosen, and the screens that say why. */
function Lines({ found, filter, model: of, clear }: { found: MistakesDocument; filter: Filter; model: string; clear(): void }) {
  const [most, setMost] = useState(PAGE);
  const lines = shownLines(found, filter);
  const filtered = Object.values(filter).some((value) => value !== undefined);
  return (
    <section class="card cases" aria-label={t("mistakes.answers")}>
      <div class="row between">
        <h2>{t("mistakes.shown", { n: lines.length })}</h2>
        {filtered && (
          <Button kind="quiet" onClick={clear}>
            {t("mistakes.all")}
          </Button>
        )}
      </div>
      <ol>
        {lines.slice(0, most).map((line) => (
          <Line key={line.line} line={line} model={of} />
        ))}
      </ol>
      {lines.length > most && (
        <Button onClick={() => setMost(most + PAGE)}>{t("mistakes.more", { n: Math.min(PAGE, lines.length - most) })}</Button>
      )}
    </section>
  );
}

function Line({ line, model: of }: { line: WrongLinePart; model: string }) {
  const to = (screen: "attention" | "compare" | "beam") =>
    href(screen, { m: of, s: line.source, ref: line.reference, v: null, mi: null, i: null, t: null, px: null, w: null, q: null, j: null });
  const why = line.cause === "search" ? (["beam", "attention", "compare"] as const) : (["attention", "compare"] as const);
  return (
    <li>
      <p class="source" dir="auto">
        <span class="sr">{t("quality.source")} </span>
        {line.source}
      </p>
      <dl>
        <dt>{t("quality.reference")}</dt>
        <dd dir="auto">{line.reference}</dd>
        <dt>{t("mistakes.answer")}</dt>
        <dd dir="auto">
          {wordDiff(line.hypothesis, line.reference).map((part, i) =>
            part.kind === "same" ? part.text : part.kind === "added" ? <ins key={i}>{part.text}</ins> : <del key={i}>{part.text}</del>,
          )}
        </dd>
      </dl>
      <div class="row small">
        {MISTAKES.filter((kind: MistakeKind) => line.kinds[kind]).map((kind) => (
          <span key={kind} class="badge">
            {t(`mistakes.kind_${kind}`)} {line.kinds[kind]}
          </span>
        ))}
        {line.cause && <span class="badge">{t(`mistakes.cause_${line.cause}`)}</span>}
        <span class="grow" />
        <span class="muted">{t("mistakes.why")}</span>
        {why.map((screen) => (
          <Link key={screen} href={to(screen)}>
            {t(`mistakes.why_${screen}`)}
          </Link>
        ))}
      </div>
    </li>
  );
}
