/** Pairs in, a run out: pasted or dropped, looked at as they come, and trained on at the press of a button. */
import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, beginTraining, checkPairs } from "../../api";
import type { PairsOut, TrainerOut } from "../../api-types";
import { CommandList } from "../../components/Commands";
import { Button, choices, Segmented, Select } from "../../components/controls";
import { useDropping } from "../../components/dropping";
import { Icon } from "../../components/Icon";
import { problemText } from "../../components/states";
import { problemOf } from "../../errors";
import { hasMessage, locale, t } from "../../i18n";
import { bytesIn, examplePairs, hasColumns, lineList } from "../../lib/pairs";
import { sizeText } from "../../lib/sizes";
import { setParams } from "../../state";
import { isBusy, lookAtTrainer } from "./trainer";

const QUIET_MS = 500;
const ARCHS = ["rnn", "luong", "transformer"] as const;
const MINUTES = ["1", "2", "5", "10", "30", "60"];
type Form = "pairs" | "sides";
type Texts = Readonly<Record<"pairs" | "source" | "target", string>>;
const EMPTY: Texts = { pairs: "", source: "", target: "" };

/** Why nothing can be trained here, in one sentence. */
export function TrainingOff({ why }: { why: "site" | "not_allowed" | "no_torch" }) {
  return (
    <div class="card">
      <p>{t(`trainer.off_${why}`)}</p>
      {why === "no_torch" && <CommandList commands={[[t("trainer.install"), "pip install 'jumok[train]'"]]} />}
    </div>
  );
}

export function TrainForm({ trainer }: { trainer: TrainerOut }) {
  const [form, setForm] = useState<Form>("pairs");
  const [texts, setTexts] = useState<Texts>(EMPTY);
  const [arch, setArch] = useState<(typeof ARCHS)[number]>("luong");
  const [minutes, setMinutes] = useState("2");
  const [more, setMore] = useState({ name: "", source_language: "", target_language: "" });
  const [said, setSaid] = useState<string | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [starting, setStarting] = useState(false);
  const fields = form === "pairs" ? (["pairs"] as const) : (["source", "target"] as const);
  const body = Object.fromEntries(fields.map((side) => [side, texts[side]]));
  const blank = fields.every((side) => texts[side].trim() === "");
  const size = bytesIn(JSON.stringify(body));
  const large = size > trainer.most_bytes - 1000; // with the other fields
  const { found, checking, trouble } = useCheck(body, !blank && !large);

  const put = (side: keyof Texts, value: string) => {
    setSaid(null);
    if (side === "source" && texts.source.trim() === "" && hasColumns(value)) {
      setForm("pairs");
      setTexts({ ...EMPTY, pairs: value });
    } else setTexts((old) => ({ ...old, [side]: value }));
  };
  const take = async (files: readonly File[] | null) => {
    if (!files || files.length > 2) return setSaid(t("trainer.too_many_files"));
    if (files.some((file) => file.size > trainer.most_bytes)) {
      const most = Math.max(...files.map((file) => file.size));
      return setSaid(t("trainer.too_large", { size: sizeText(most, locale.value), most: sizeText(trainer.most_bytes, locale.value) }));
    }
    const [first, second] = await Promise.all(files.map((file) => file.text()));
    setSaid(null);
    setForm(second === undefined ? "pairs" : "sides");
    setTexts(second === undefined ? { ...EMPTY, pairs: first } : { ...EMPTY, source: first, target: second });
  };
  const [over, setOver] = useState(false);
  useDropping(setOver, (files) => void take(files));
  const begin = async () => {
    setStarting(true);
    setError(null);
    const named = Object.fromEntries(Object.entries(more).filter(([, value]) => value.trim() !== ""));
    try {
      const run = await beginTraining({ ...body, ...named, arch, seconds: Math.min(trainer.most_seconds, Number(minutes) * 60) });
      await lookAtTrainer();
      setParams({ new: null, r: run.run, v: null }, { push: true });
    } catch (problem) {
      setError(problemOf(problem));
      setStarting(false);
    }
  };
  const busy = isBusy(trainer.current) || trainer.current?.status === "paused";
  const times = MINUTES.filter((one) => Number(one) * 60 <= trainer.most_seconds);
  return (
    <section class={over ? "card train-form over" : "card train-form"} aria-label={t("trainer.title")}>
      <h2>{t("trainer.title")}</h2>
      <p class="note">{over ? t("trainer.drop_now") : t("trainer.lead")}</p>
      <div class="row wide">
        <Segmented
          label={t("trainer.form")}
          value={form}
          choices={choices(["pairs", "sides"], (one) => t(`trainer.form_${one}`))}
          onChange={(one) => setForm(one)}
        />
        <FileButton take={(files) => void take(files)} />
        <Button kind="quiet" onClick={() => void take([new File([examplePairs(locale.value === "ko" ? "ko" : "de")], "example.tsv")])}>
          {t("trainer.example")}
        </Button>
        {!blank && (
          <Button kind="quiet" onClick={() => setTexts(EMPTY)}>
            {t("trainer.clear")}
          </Button>
        )}
      </div>
      <div class={`boxes ${form}`}>
        {fields.map((side) => (
          <label key={side}>
            <span class="small muted">{t(`trainer.box_${side}`)}</span>
            <textarea
              class="input"
              rows={10}
              dir="auto"
              spellcheck={false}
              value={texts[side]}
              placeholder={side === "pairs" ? t("trainer.placeholder") : undefined}
              onInput={(event) => put(side, event.currentTarget.value)}
              onKeyDown={(event) => event.stopPropagation()}
            />
          </label>
        ))}
      </div>
      <div aria-live="polite">
        {said ? (
          <p class="trainer-bad">{said}</p>
        ) : large ? (
          <p class="trainer-bad">
            {t("trainer.too_large", { size: sizeText(size, locale.value), most: sizeText(trainer.most_bytes, locale.value) })}
          </p>
        ) : blank ? (
          <p class="note">{t("trainer.nothing")}</p>
        ) : trouble ? (
          <p class="trainer-bad">
            {problemText(trouble)} {trouble.detail}
          </p>
        ) : found ? (
          <Findings found={found} faint={checking} />
        ) : (
          <p class="note">{t("trainer.checking")}</p>
        )}
      </div>
      <div class="row wide">
        <div class="field">
          {t("trainer.arch")}
          <Segmented
            label={t("trainer.arch")}
            value={arch}
            choices={choices(ARCHS, (one) => t(`shell.arch_${one}`))}
            onChange={(one) => setArch(one)}
          />
        </div>
        <Select
          label={t("trainer.time")}
          value={times.includes(minutes) ? minutes : (times.at(-1) ?? "1")}
          choices={choices(times.length > 0 ? times : ["1"], (n) => t("trainer.minutes", { n: Number(n) }))}
          onChange={setMinutes}
        />
      </div>
      <details>
        <summary class="small">{t("trainer.more")}</summary>
        <div class="row wide">
          {(["name", "source_language", "target_language"] as const).map((key) => (
            <label key={key} class="field">
              {t(key === "name" ? "trainer.name" : key === "source_language" ? "trainer.from" : "trainer.into")}
              <input
                class="input"
                value={more[key]}
                maxLength={key === "name" ? 40 : 32}
                placeholder={key === "name" ? t("trainer.name_hint") : key === "source_language" ? "de" : "en"}
                onInput={(event) => setMore({ ...more, [key]: event.currentTarget.value })}
              />
            </label>
          ))}
        </div>
      </details>
      {busy && <p class="note">{t("trainer.busy")}</p>}
      {error && (
        <p class="trainer-bad" role="alert">
          {problemText(error)} {error.detail}
        </p>
      )}
      <div class="row">
        <Button kind="primary" disabled={busy || starting || checking || !found?.trainable || large || blank} onClick={() => void begin()}>
          <Icon name="play" size={16} /> {t("trainer.start")}
        </Button>
        <Button kind="quiet" onClick={() => setParams({ new: null }, { push: true })}>
          {t("trainer.back")}
        </Button>
      </div>
    </section>
  );
}

function FileButton({ take }: { take(files: readonly File[]): void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button onClick={() => input.current?.click()}>{t("trainer.choose")}</Button>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept=".tsv,.txt"
        aria-label={t("trainer.choose")}
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          if (files.length > 0) take(files);
        }}
      />
    </>
  );
}

function Findings({ found, faint }: { found: PairsOut; faint: boolean }) {
  return (
    <div class={faint ? "stale" : undefined}>
      <p class="small">
        <strong>{t("trainer.counted", { n: found.pairs })}</strong>{" "}
        {found.findings.length === 0 && <span class="muted">· {t("trainer.fine")}</span>}
      </p>
      <ul class="findings">
        {found.findings.map((one) => {
          const key = `trainer.kind_${one.kind}`;
          return (
            <li key={one.kind} class={one.severity}>
              <span>
                {hasMessage(key) ? t(key) : one.title}{" "}
                <span class="muted">
                  {one.lines.length > 0
                    ? t("trainer.lines", { lines: lineList(one.lines, one.kind === "unequal_lines" ? 1 : one.count) })
                    : ""}
                </span>
              </span>
              {one.example && (
                <bdi class="small muted clip" title={one.example}>
                  {one.example}
                </bdi>
              )}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** What the server finds in the pairs, half a second after the last change; what it found before stays until then. */
function useCheck(body: object, on: boolean): { found: PairsOut | null; checking: boolean; trouble: ApiError | null } {
  const [state, setState] = useState<{ of: string; found: PairsOut | null; trouble: ApiError | null }>({
    of: "",
    found: null,
    trouble: null,
  });
  const key = on ? JSON.stringify(body) : "";
  useEffect(() => {
    if (key === "") return;
    const control = new AbortController();
    const timer = setTimeout(() => {
      checkPairs(JSON.parse(key) as object, control.signal).then(
        (found) => setState({ of: key, found, trouble: null }),
        (error: unknown) => !control.signal.aborted && setState({ of: key, found: null, trouble: problemOf(error) }),
      );
    }, QUIET_MS);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [key]);
  return { found: on ? state.found : null, checking: on && state.of !== key, trouble: on && state.of === key ? state.trouble : null };
}
