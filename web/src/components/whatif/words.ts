/** Interventions in plain words. */
import type { Op } from "../../lib/interventions";
import type { Kind, Manifest } from "../../api-types";
import { t } from "../../i18n";
import { number, percent } from "../../lib/format";
import { numbersOf, type OpName } from "../../lib/interventions";

export const opName = (op: string): string => t(`whatif.op_${op as OpName}`);

const indices = (value: unknown, what: "layer" | "head"): string => {
  const found = numbersOf(value);
  return found === "*" ? t(`whatif.every_${what}`) : t(`whatif.n_${what}`, { n: found.map((i) => i + 1).join(", ") });
};

/** Tokens by position, as far as the trace has them. */
export function tokenName(manifest: Manifest | null, kind: unknown, end: "q" | "k", at: number): string {
  const side = manifest?.attention[kind as Kind]?.[end];
  return (side && manifest[side].tokens[at]?.text.trim()) || t("whatif.position", { n: at + 1 });
}

/** The name of a head with what interventions do to it. */
export const withEdit = (name: string, edit: "silenced" | "changed" | null): string =>
  edit ? `${name}, ${t(`attention.edit_${edit}`)}` : name;

const quoted = (text: string) => t("whatif.quoted", { text });

/** The keys of a row that is set, the strongest first, with their shares where there are several. */
function strongest(weights: Readonly<Record<string, number>>, name: (k: number) => string): string {
  const total = Object.values(weights).reduce((sum, value) => sum + value, 0);
  const list = Object.entries(weights).sort((a, b) => b[1] - a[1]);
  const said = list.slice(0, 3).map(([k, value]) => (list.length === 1 ? name(Number(k)) : `${name(Number(k))} ${percent(value / total)}`));
  return said.join(", ") + (list.length > 3 ? ", …" : "");
}

/** What an intervention acts on, and how much: everything that follows its name. */
export function opDetails(op: Op, manifest: Manifest | null): string {
  const where =
    "head" in op ? [t(`attention.kind_${op.kind as Kind}`), indices(op.layer, "layer"), indices(op.head, "head")].join(" · ") : "";
  const names = (end: "q" | "k", value: unknown) => {
    const found = numbersOf(value);
    return found === "*" ? "*" : found.map((at) => tokenName(manifest, op.kind, end, at)).join(" ");
  };
  switch (op.op as OpName) {
    case "scale_head":
      return `×${number(Number(op.factor))} · ${where}`;
    case "mask_edge":
      return `${names("q", op.q)} → ${names("k", op.k)} · ${where}`;
    case "set_row":
      return `${names("q", op.q)} → ${strongest((op.weights ?? {}) as Record<string, number>, (k) => names("k", k))} · ${where}`;
    case "no_scale":
      return t(`attention.kind_${op.kind as Kind}`);
    case "positions": {
      const amount = op.mode === "shift" ? ` ${Number(op.by) > 0 ? "+" : ""}${number(Number(op.by ?? 0))}` : "";
      return `${t(`whatif.change_${op.mode as "none"}`)}${amount} · ${t(`whatif.side_${(op.side ?? "source") as "source"}`)}`;
    }
    case "bridge":
      return t(`whatif.start_${op.mode as "zero"}`) + (op.text ? ` · ${quoted(String(op.text).split("\n").join(" / "))}` : "");
    case "force_prefix":
      return op.text ? quoted(String(op.text)) : `[${String(op.ids)}]`;
    case "ban":
    case "require":
      return ([] as unknown[])
        .concat(op.text)
        .map((text) => quoted(String(text)))
        .join(" ");
    case "replace_source": {
      const word = manifest?.source.words[Number(op.unit)]?.text;
      const given =
        manifest && !manifest.interventions.some((one) => one.op === "replace_source") && word
          ? quoted(word)
          : t("whatif.word_n", { n: Number(op.unit) + 1 });
      return `${given} → ${String(op.text).trim() ? quoted(String(op.text)) : t("whatif.nothing")}`;
    }
    default:
      return where;
  }
}
