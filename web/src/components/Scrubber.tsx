/** Which target token all screens show, and how fast things play: kept in the address. */
import type { Manifest } from "../api-types";
import { t } from "../i18n";
import { stepOf } from "../lib/step";
import { unitsOf } from "../lib/tokens";
import { params, setParams } from "../state";
import { choices, IconButton, Select } from "./controls";

export function Scrubber({ manifest, onStep }: { manifest: Manifest; onStep?(step: number): void }) {
  const { tokens, lang } = manifest.target;
  const step = stepOf(params.value.q, tokens.length);
  const show = onStep ?? ((q: number) => setParams({ q }));
  const text = tokens[step] ? unitsOf([tokens[step]])[0].text : "";
  if (tokens.length < 2) return null;
  return (
    <div class="row scrubber" role="group" aria-label={t("map.scrubber")}>
      <IconButton icon="prev" label={t("map.token_before")} disabled={step === 0} onClick={() => show(step - 1)} />
      <input
        type="range"
        min={0}
        max={tokens.length - 1}
        value={step}
        aria-label={t("map.scrubber")}
        aria-valuetext={t("map.token_of", { n: step + 1, all: tokens.length, token: text })}
        onInput={(event) => show(Number(event.currentTarget.value))}
      />
      <IconButton icon="next" label={t("map.token_after")} disabled={step === tokens.length - 1} onClick={() => show(step + 1)} />
      <output class="small muted">
        {step + 1} / {tokens.length} · <bdi lang={lang}>{text}</bdi>
      </output>
    </div>
  );
}

const SPEEDS = ["0.5", "1", "2", "4"] as const;
/** How fast things play, as the address says. */
export const speedOf = (): number => Number(SPEEDS.find((speed) => speed === params.value.sp) ?? 1);
export const Speed = () => (
  <Select
    bare
    label={t("map.speed")}
    value={String(speedOf())}
    choices={choices(SPEEDS, (speed) => `${speed}×`)}
    onChange={(sp) => setParams({ sp: sp === "1" ? null : sp })}
  />
);
