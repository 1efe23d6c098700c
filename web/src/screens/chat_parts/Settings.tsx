/** How answers are found: by chance, with its dials, or by search. */
import { Segmented, Select } from "../../components/controls";
import { Icon } from "../../components/Icon";
import { t } from "../../i18n";
import type { Settings } from "./turns";

const BEAMS = ["1", "2", "4", "5", "8"];

export function SettingsBar({ value, onChange }: { value: Settings; onChange(next: Settings): void }) {
  const set = (change: Partial<Settings>) => onChange({ ...value, ...change });
  const beam = String(value.beam);
  const beams = [...new Set([...BEAMS, beam])].sort((a, b) => Number(a) - Number(b)).map((one) => ({ value: one, label: one }));
  return (
    <div class="row wide chat-settings" role="group" aria-label={t("chat.settings")}>
      <Segmented
        label={t("chat.how")}
        value={value.sample ? "sample" : "search"}
        onChange={(how) => set({ sample: how === "sample" })}
        choices={[
          { value: "sample", label: t("chat.sample"), title: t("chat.sample_why") },
          { value: "search", label: t("chat.search"), title: t("chat.search_why") },
        ]}
      />
      {value.sample ? (
        <>
          <Dial
            label={t("chat.temperature")}
            title={t("chat.temperature_why")}
            value={value.temperature}
            least={0.05}
            most={100}
            step={0.05}
            onChange={(temperature) => set({ temperature })}
          />
          <Dial
            label={t("chat.top_k")}
            title={t("chat.top_k_why")}
            value={value.topK}
            least={0}
            most={1_000_000}
            step={1}
            onChange={(topK) => set({ topK })}
          />
          <Dial
            label={t("chat.top_p")}
            title={t("chat.top_p_why")}
            value={value.topP}
            least={0.05}
            most={1}
            step={0.05}
            onChange={(topP) => set({ topP })}
          />
          <Dial
            label={t("chat.seed")}
            title={t("chat.seed_why")}
            value={value.seed}
            least={0}
            most={2 ** 53}
            step={1}
            onChange={(seed) => set({ seed })}
          />
          <button
            type="button"
            class="btn quiet"
            title={t("chat.seed_why")}
            onClick={() => set({ seed: Math.floor(Math.random() * 10_000) })}
          >
            <Icon name="again" size={16} />
            {t("chat.new_seed")}
          </button>
        </>
      ) : (
        <Select label={t("translate.beam")} value={beam} choices={beams} onChange={(text) => set({ beam: Number(text) })} />
      )}
    </div>
  );
}

interface DialProps {
  label: string;
  title: string;
  value: number;
  least: number;
  most: number;
  step: number;
  onChange(value: number): void;
}

/** A number inside its bounds; what is not one is left as it was. */
function Dial({ label, title, value, least, most, step, onChange }: DialProps) {
  const write = (input: HTMLInputElement) => {
    const next = step === 1 ? Math.round(input.valueAsNumber) : input.valueAsNumber;
    if (next >= least && next <= most) onChange(next);
    else input.value = String(value);
  };
  return (
    <label class="field" title={title}>
      {label}
      <input
        class="input"
        type="number"
        min={least}
        max={most}
        step={step}
        value={value}
        onChange={(event) => write(event.currentTarget)}
      />
    </label>
  );
}
