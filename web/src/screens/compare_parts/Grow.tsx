/** Grow the sentence: chrF of each model against the number of words it was given. */
import { useMemo } from "preact/hooks";
import type { CompareOut } from "../../api-types";
import { LineFigure, type Line } from "../../components/LineChart";
import { t } from "../../i18n";
import { fixed } from "../../lib/format";
import { coloursOf } from "../../lib/series";
import { setParams } from "../../state";

export function Grow({ answer, part, reference }: { answer: CompareOut; part: number | null; reference: boolean }) {
  const { grow, results } = answer;
  const all = answer.source.words.length;
  const lines = useMemo(() => {
    const colours = coloursOf(results.map((result) => result.arch));
    return results.map((result, i): Line => {
      const x = grow.filter((entry) => entry.scores[result.model]);
      return {
        id: result.model,
        label: result.model,
        colour: colours[i],
        dashed: result.model === answer.pseudo_reference,
        dots: true,
        x: x.map((entry) => entry.words),
        y: x.map((entry) => entry.scores[result.model].chrf),
      };
    });
  }, [answer]);
  const ticks = useMemo(() => grow.map((entry) => ({ at: entry.words, label: String(entry.words) })), [answer]);
  const flags = useMemo(() => (part === null ? [] : [{ x: part, text: t("compare.first_words", { n: part, all }) }]), [part, all]);
  const table = () => ({
    head: [t("compare.words"), ...results.flatMap((result) => [`${result.model}, ${t("compare.chrf_short")}`, result.model])],
    rows: grow.map((entry) => [
      entry.words,
      ...results.flatMap((result) => [entry.scores[result.model]?.chrf ?? null, entry.scores[result.model]?.text ?? ""]),
    ]),
  });
  const note = reference ? t("compare.grow_reference") : t("compare.grow_pseudo", { model: answer.pseudo_reference ?? "" });
  return (
    <LineFigure
      title={t("compare.grow")}
      file="grow"
      lines={lines}
      xLabel={t("compare.words")}
      xTicks={ticks}
      yRange={[0, 104]}
      formatX={wordsText}
      formatY={(value) => fixed(value, 0)}
      height={240}
      flags={flags}
      table={table}
      onPick={(words) => setParams({ cut: words >= all ? null : words }, { push: true })}
      caption={
        <p>
          {t("compare.grow_how")} {note}
        </p>
      }
    />
  );
}

const wordsText = (n: number) => t("compare.n_words", { n });
