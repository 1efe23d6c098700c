/** Grow the date: whole dates of growing length with their true answers, and how many of them each model gets right. */
import { useMemo } from "preact/hooks";
import { translate } from "../../api";
import type { Card } from "../../api-types";
import { LineFigure, type Line } from "../../components/LineChart";
import { Await } from "../../components/states";
import { useResource } from "../../hooks";
import { t } from "../../i18n";
import { sameText } from "../../lib/compare";
import { grownDates } from "../../lib/dates";
import { fixed } from "../../lib/format";
import { coloursOf } from "../../lib/series";
import { setParams } from "../../state";

const EACH = 8;
const SEED = 7;
/** More than any answer has; with it a request of a few texts stays within the limits of every server. */
const LONGEST = 64;

export function GrowDates({ chosen }: { chosen: readonly Card[] }) {
  const dates = useMemo(() => grownDates(SEED, EACH), []);
  const names = chosen.map((card) => card.name);
  const texts = dates.map((date) => date.text);
  const answers = useResource(
    `grow dates ${names.join(" ")}`,
    async (signal) => {
      const found: string[][] = names.map(() => []);
      for (let from = 0; from < texts.length; from += EACH)
        for (const [i, model] of names.entries()) {
          const { results } = await translate({ model, texts: texts.slice(from, from + EACH), max_len: LONGEST }, signal);
          found[i].push(...results.map((result) => result.text));
        }
      return found;
    },
    { cache: true },
  );
  return (
    <Await of={answers} height={320}>
      {(found) => <Chart chosen={chosen} dates={dates} found={found} />}
    </Await>
  );
}

interface ChartProps {
  chosen: readonly Card[];
  dates: ReturnType<typeof grownDates>;
  /** what each model wrote, date by date */
  found: readonly (readonly string[])[];
}

function Chart({ chosen, dates, found }: ChartProps) {
  const lengths = [...new Set(dates.map((date) => date.words))];
  const share = (texts: readonly string[], words: number) => {
    const own = dates.flatMap((date, i) => (date.words === words ? [sameText(texts[i], date.iso)] : []));
    return (100 * own.filter(Boolean).length) / own.length;
  };
  const colours = coloursOf(chosen.map((card) => card.arch));
  const lines = chosen.map(
    (card, i): Line => ({
      id: card.name,
      label: card.name,
      colour: colours[i],
      dots: true,
      x: lengths,
      y: lengths.map((words) => share(found[i], words)),
    }),
  );
  const pick = (words: number) => {
    const wrong = (i: number) => found.filter((texts) => !sameText(texts[i], dates[i].iso)).length;
    const own = dates.map((_, i) => i).filter((i) => dates[i].words === words);
    const { text, iso } = dates[own.reduce((best, i) => (wrong(i) > wrong(best) ? i : best))];
    setParams({ s: text, ref: iso, cut: null, i: null }, { push: true });
  };
  return (
    <LineFigure
      title={t("compare.grow_dates")}
      file="grow"
      lines={lines}
      xLabel={t("compare.words")}
      xTicks={lengths.map((at) => ({ at, label: String(at) }))}
      yRange={[0, 104]}
      formatX={(n) => t("compare.n_words", { n })}
      formatY={(value) => `${fixed(value, 0)} %`}
      height={240}
      table={() => ({
        head: [t("compare.words"), t("compare.source_text"), t("compare.reference"), ...chosen.map((card) => card.name)],
        rows: dates.map((date, i) => [date.words, date.text, date.iso, ...found.map((texts) => texts[i])]),
      })}
      onPick={pick}
      caption={<p>{t("compare.grow_dates_how", { n: EACH })}</p>}
    />
  );
}
