/** The fields of one intervention: pickers from the model card and the sentence. */
import { KINDS } from "../../lib/kinds";
import type { Op } from "../../lib/interventions";
import type { Card, Kind, Manifest } from "../../api-types";
import { t } from "../../i18n";
import { fixed } from "../../lib/format";
import { change, fieldsOf, numbersOf, type Field } from "../../lib/interventions";
import { Segmented, Select } from "../controls";

interface Props {
  op: Op;
  card: Card;
  /** the trace on show, for the names of tokens and words */
  manifest: Manifest | null;
  onChange(op: Op): void;
}

export function OpForm(props: Props) {
  const fields = fieldsOf(props.op);
  const where: readonly Field[] = fields.filter((field) => field === "kind" || field === "layer" || field === "head");
  const rest = fields.filter((field) => !where.includes(field));
  return (
    <div class="whatif-form">
      {where.length > 0 && (
        <div class="whatif-where">
          {where.map((field) => (
            <One key={field} field={field} {...props} />
          ))}
        </div>
      )}
      {rest.map((field) => (
        <One key={field} field={field} {...props} />
      ))}
    </div>
  );
}

function One({ field, op, card, manifest, onChange }: Props & { field: Field }) {
  const set = (value: unknown) => onChange(change(op, field, value, card));
  const kind = op.kind as Kind;
  const size = card.kinds[kind];
  switch (field) {
    case "kind":
      return (
        <Select
          bare
          label={t("attention.kind")}
          value={kind}
          choices={KINDS.filter((one) => card.kinds[one]).map((value) => ({ value, label: t(`attention.kind_${value}`) }))}
          onChange={set}
        />
      );
    case "layer":
    case "head":
      return (
        <Place
          label={t(`whatif.place_${field}`)}
          value={op[field]}
          all={t(`whatif.every_${field}`)}
          bare
          onChange={set}
          names={Array.from({ length: (field === "layer" ? size?.layers : size?.heads) ?? 1 }, (_, i) =>
            t(`whatif.n_${field}`, { n: i + 1 }),
          )}
        />
      );
    case "q":
    case "k":
    case "key": {
      const end = field === "q" ? "q" : "k";
      const side = manifest?.attention[kind]?.[end];
      const value = field === "key" ? Object.keys((op.weights ?? {}) as object).map(Number) : op[field];
      return (
        <Place
          label={t(`whatif.field_${field}`)}
          value={value}
          onChange={set}
          names={(side ? manifest[side].tokens : []).map((token, i) => `${i + 1} · ${token.text.trim() || "␣"}`)}
        />
      );
    }
    case "unit":
      return (
        <Place
          label={t("whatif.field_unit")}
          value={op.unit}
          onChange={set}
          names={(manifest?.source.words ?? [])
            .filter((word) => manifest!.source.tokens[word.tokens[0]]?.type !== "special")
            .map((word, i) => `${i + 1} · ${word.text}`)}
        />
      );
    case "factor":
      return (
        <label class="field whatif-range">
          {t("whatif.field_factor")}
          <input
            type="range"
            min={0}
            max={3}
            step={0.1}
            value={Number(op.factor)}
            onInput={(event) => set(Number(event.currentTarget.value))}
          />
          <output class="num">×{fixed(Number(op.factor), 1)}</output>
        </label>
      );
    case "seed":
    case "by":
      return (
        <label class="field">
          {t(`whatif.field_${field}`)}
          <input
            class="input num"
            type="number"
            step={1}
            min={field === "seed" ? 0 : -99}
            max={999}
            value={Number(op[field] ?? 0)}
            onInput={(event) => set(Math.trunc(Number(event.currentTarget.value) || 0))}
          />
        </label>
      );
    case "side":
      return (
        <Segmented
          label={t("whatif.field_side")}
          value={String(op.side ?? "source")}
          choices={(["source", "target"] as const).map((value) => ({ value: value as string, label: t(`whatif.side_${value}`) }))}
          onChange={set}
        />
      );
    case "change":
      return (
        <Segmented
          label={t("whatif.field_change")}
          value={String(op.mode)}
          choices={(["none", "shuffle", "shift"] as const).map((value) => ({ value: value as string, label: t(`whatif.change_${value}`) }))}
          onChange={set}
        />
      );
    case "start":
      return (
        <Segmented
          label={t("whatif.field_start")}
          value={String(op.mode)}
          choices={(["zero", "swap", "mean"] as const)
            .slice(0, card.source === "image" ? 1 : 3)
            .map((value) => ({ value: value as string, label: t(`whatif.start_${value}`) }))}
          onChange={set}
        />
      );
    case "text":
    case "lines": {
      const given = Array.isArray(op.text) ? op.text.join("\n") : String(op.text ?? "");
      const label =
        field === "lines"
          ? t("whatif.field_lines")
          : op.op === "force_prefix"
            ? t("whatif.field_prefix")
            : op.op === "bridge"
              ? t("whatif.field_other")
              : t("whatif.field_text");
      const lang = op.op === "bridge" || op.op === "replace_source" ? card.source_language : card.target_language;
      return <Written key={op.op + field} label={label} lang={lang} text={given} lines={field === "lines"} onInput={set} />;
    }
  }
}

interface WrittenProps {
  label: string;
  lang: string;
  text: string;
  lines: boolean;
  onInput(text: string): void;
}

/** A text as it is typed; what is kept of it may be tidier. */
function Written({ label, lang, text, lines, onInput }: WrittenProps) {
  const props = {
    class: "input",
    lang,
    dir: "auto" as const,
    "aria-label": label,
    placeholder: label,
    spellcheck: false,
    defaultValue: text,
  };
  return lines ? (
    <textarea {...props} rows={2} onInput={(event) => onInput(event.currentTarget.value)} />
  ) : (
    <input type="text" {...props} onInput={(event) => onInput(event.currentTarget.value)} />
  );
}

interface PlaceProps {
  label: string;
  value: unknown;
  names: readonly string[];
  all?: string;
  bare?: boolean;
  onChange(value: number | string): void;
}

/** One position of several; "all", and several positions at once, where the intervention has them. */
function Place({ label, value, names, all, bare, onChange }: PlaceProps) {
  const found = numbersOf(value);
  const several = found !== "*" && found.length > 1;
  const now = found === "*" ? "*" : several ? "several" : String(found[0]);
  const choices = names.map((name, i) => ({ value: String(i), label: name }));
  if (all !== undefined) choices.unshift({ value: "*", label: all });
  if (several) choices.unshift({ value: "several", label: found.map((i) => names[i] ?? String(i + 1)).join(", ") });
  else if (!choices.some((choice) => choice.value === now))
    choices.push({ value: now, label: now === "*" ? "*" : String(Number(now) + 1) });
  return (
    <Select
      bare={bare}
      label={label}
      value={now}
      choices={choices}
      onChange={(next) => next !== "several" && onChange(next === "*" ? next : Number(next))}
    />
  );
}
