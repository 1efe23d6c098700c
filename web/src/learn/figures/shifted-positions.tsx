/** Dates made on the spot, read with all source positions shifted: how many stay right, beside the curve over many. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { postTrace } from "../../api";
import type { Arch, Card } from "../../api-types";
import { Button } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { Icon } from "../../components/Icon";
import { LineChart, type Line } from "../../components/LineChart";
import { Await } from "../../components/states";
import { useResource, type Resource } from "../../hooks";
import { writtenDates, type WrittenDate } from "../../lib/dates";
import { fixed } from "../../lib/format";
import { shorten } from "../../lib/labels";
import stored from "../../../../benchmarks/readings/shifted_positions.json";
import { Slider } from "../parts";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { shiftedPositions } from "../words/shifted-positions";
import type { FigureProps } from ".";
import "./shifted-positions.css";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(shiftedPositions);
const COUNT = 8;
const ASKED = 20;
const MOST = 60;
const LONGEST = 24; // tokens of a date, and of what is no date any more

interface Read extends WrittenDate {
  readonly answer: string;
}

export default function ShiftedPositions({ card, tell }: FigureProps) {
  const [by, setBy] = useState(ASKED);
  const [seed, setSeed] = useState(1);
  const [seen, setSeen] = useState<Readonly<Record<number, number>>>({});
  const dates = card.target_language.startsWith("iso");
  const given = useMemo(() => (dates ? writtenDates(COUNT, seed) : examplesOf(card)), [card, seed]);
  const plain = useAnswers(card, given, 0);
  const asked = useAnswers(card, given, ASKED);
  const shifted = useAnswers(card, given, by);
  const expected = (i: number) => (dates ? given[i].iso : (plain.value?.[i]?.answer ?? ""));
  const count = (of: Resource<readonly Read[]>) =>
    of.value && plain.value ? of.value.filter((one, i) => one.answer === expected(i)).length : null;
  const [before, after, now] = [count(plain), count(asked), count(shifted)];
  useEffect(() => {
    if (before === null || after === null) return;
    tell({ all: given.length, before, after });
    setSeen((old) => ({ ...old, 0: (100 * before) / given.length, [ASKED]: (100 * after) / given.length }));
  }, [before, after]);
  useEffect(() => {
    if (now !== null && shifted.status === "ready") setSeen((old) => ({ ...old, [by]: (100 * now) / given.length }));
  }, [shifted.value, shifted.status]);
  if (card.positions === "none" || card.positions === null) return <p class="note">{say("none")}</p>;
  const lines = linesOf(seen, dates);
  return (
    <Figure
      title={say("title")}
      caption={dates ? say("caption") : undefined}
      table={() => ({
        head: [say("text"), say("answer"), ""],
        rows: (shifted.value ?? []).map((one, i) => [one.text, one.answer, say(one.answer === expected(i) ? "right" : "wrong")]),
      })}
    >
      <Await of={asked} height={420}>
        {() => (
          <Reveal
            key={seed}
            ask={say("ask", { all: given.length })}
            options={[say("all"), say("half"), say("few")]}
            right={after! > 0.75 * given.length ? 0 : after! > 0.25 * given.length ? 1 : 2}
            why={say("why", { right: after ?? "…", all: given.length })}
          >
            <div class="stack">
              {card.positions === "rotary" && <p class="note">{say("rotary")}</p>}
              {card.positions === "relative" && <p class="note">{say("relative")}</p>}
              <div class="row">
                <Slider label={say("by")} value={by} min={0} max={MOST} onChange={setBy} />
                {dates && (
                  <Button
                    onClick={() => {
                      setSeen({});
                      setSeed(seed + 1);
                    }}
                  >
                    {say("again")}
                  </Button>
                )}
              </div>
              <Await of={shifted} height={240}>
                {(all) => (
                  <>
                    <ul class="shifted">
                      {all.map((one, i) => (
                        <li key={i}>
                          <span lang={one.lang}>{shorten(one.text, 60)}</span>
                          <span class={one.answer === expected(i) ? "right" : "wrong"}>
                            <Icon name={one.answer === expected(i) ? "check" : "close"} size={14} />
                            <span class="sr">{say(one.answer === expected(i) ? "right" : "wrong")}: </span>
                            {shorten(one.answer, 60) || "∅"}
                          </span>
                        </li>
                      ))}
                    </ul>
                    <p role="status">{now !== null && say(dates ? "right_of" : "kept_of", { right: now, all: given.length, by })}</p>
                  </>
                )}
              </Await>
              <h3>{say("curve")}</h3>
              <LineChart
                name={say("curve")}
                lines={lines}
                xLabel={say("by")}
                xRange={[0, MOST]}
                yRange={[0, 100]}
                formatY={(value) => `${fixed(value, 0)} %`}
                flags={[{ x: by, text: `${say("by")} ${by}` }]}
                height={160}
              />
            </div>
          </Reveal>
        )}
      </Await>
    </Figure>
  );
}

const examplesOf = (card: Card): WrittenDate[] =>
  card.examples.slice(0, COUNT / 2).map((text) => ({ text, iso: "", lang: card.source_language }));

/** The model's answers with every source position shifted; a few short traces, greedy. */
function useAnswers(card: Card, given: readonly WrittenDate[], by: number): Resource<readonly Read[]> {
  const key = `shifted ${card.name} ${by} ${given.map((one) => one.text).join("|")}`;
  return useResource(
    key,
    (signal) =>
      Promise.all(
        given.map(async (one) => {
          const interventions = by ? [{ op: "positions", mode: "shift", side: "source", by } as const] : [];
          const manifest = await postTrace(
            { model: card.name, text: one.text, beam: 1, ...(one.iso ? { max_len: LONGEST } : {}), interventions },
            signal,
          );
          return { ...one, answer: manifest.target.text };
        }),
      ),
    { cache: true },
  );
}

function linesOf(seen: Readonly<Record<number, number>>, dates: boolean): Line[] {
  const at = Object.keys(seen)
    .map(Number)
    .sort((a, b) => a - b);
  const live: Line = { id: "live", label: say("live"), colour: 2, dots: true, dashed: true, x: at, y: at.map((by) => seen[by]) };
  if (!dates) return [live];
  const { shifts, sentences } = stored;
  const label = say("stored", { n: sentences });
  return [{ id: "stored", label, colour: 1, x: shifts.map((one) => one.by), y: shifts.map((one) => one.exact) }, live];
}
