/** Settings of the search; a change runs it again in place. */
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../i18n";
import { fixed } from "../../lib/format";
import { model, options, params, setParams } from "../../state";
import { Button } from "../../components/controls";

const WAIT = 250;

export function Controls() {
  const usual = model.value!.decoding;
  const now = options.value;
  const number = (name: string, other: number) => Number(now[name] ?? usual[name] ?? other);
  const changed = ["b", "lp", "ml"].some((key) => params.value[key] !== undefined);
  return (
    <div class="row beam-controls" role="group" aria-label={t("beam.settings")}>
      <Slide
        label={t("beam.beam")}
        value={number("beam", 4)}
        min={1}
        max={10}
        step={1}
        show={(n) => (n === 1 ? t("beam.greedy") : String(n))}
        onChange={(n) => setParams({ b: n })}
      />
      <Slide
        label={t("beam.length_penalty")}
        value={number("length_penalty", 1)}
        min={0}
        max={2}
        step={0.1}
        show={(n) => fixed(n, 1)}
        onChange={(n) => setParams({ lp: fixed(n, 1) })}
      />
      <MaxLength usual={Number(usual.max_len ?? 0)} />
      {changed && (
        <Button kind="quiet" onClick={() => setParams({ b: null, lp: null, ml: null }, { push: true })}>
          {t("beam.usual")}
        </Button>
      )}
    </div>
  );
}

/** A slider that reports once it rests. */
function Slide(props: {
  label: string;
  value: number;
  min: number;
  max: number;
  step: number;
  show(value: number): string;
  onChange(value: number): void;
}) {
  const [draft, setDraft] = useState(props.value);
  const timer = useRef(0);
  useEffect(() => setDraft(props.value), [props.value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const move = (value: number) => {
    setDraft(value);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => props.onChange(value), WAIT);
  };
  return (
    <label class="field beam-slide">
      {props.label}
      <input
        type="range"
        min={props.min}
        max={props.max}
        step={props.step}
        value={Math.min(props.max, draft)}
        aria-valuetext={props.show(draft)}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <output>{props.show(draft)}</output>
    </label>
  );
}

function MaxLength({ usual }: { usual: number }) {
  const set = (text: string) => {
    const n = Math.round(Number(text));
    setParams({ ml: text.trim() !== "" && n >= 1 ? n : null }, { push: true });
  };
  return (
    <label class="field">
      {t("beam.max_len")}
      <input
        class="input beam-length"
        type="number"
        inputMode="numeric"
        min={1}
        max={512}
        value={params.value.ml ?? ""}
        placeholder={usual ? String(usual) : t("beam.max_len_free")}
        onChange={(event) => set(event.currentTarget.value)}
      />
    </label>
  );
}
