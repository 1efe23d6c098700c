/** The gradient of the loss at the first token as sentences grow, and at every token of one sentence, for up to three models. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getGradients } from "../../api";
import type { Arch, Card, GradientsOut } from "../../api-types";
import { Button, choices, Segmented } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { chartTable, LineChart, type Line } from "../../components/LineChart";
import { Await } from "../../components/states";
import { problemOf } from "../../errors";
import { useResource } from "../../hooks";
import { number } from "../../lib/format";
import { power, type Measured } from "../../lib/gradients";
import { range } from "../../lib/range";
import { models } from "../../state";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { gradientDistance } from "../words/gradient-distance";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["rnn", "luong", "transformer"];
const say = wordsOf(gradientDistance);
const LENGTHS = [5, 10, 20, 40, 80];
const MODES = ["one", "fresh", "trained"] as const;
type Mode = (typeof MODES)[number];
const SHARES = ["much", "some", "none"] as const;

export default function GradientDistance({ card, text, tell }: FigureProps) {
  const [mode, setMode] = useState<Mode>("one");
  const [seed, setSeed] = useState(0);
  const cards = trioOf(card, models.value ?? []);
  const first = useMeasured(cards.slice(0, 1), text, mode, seed);
  const rest = useMeasured(first.status === "ready" ? cards.slice(1) : [], text, mode, seed);
  const found = [...(first.value ?? []), ...(rest.value ?? [])];
  const far = found.find((one) => one.found);
  useEffect(() => {
    const facts = mode === "one" && far?.found ? power(far.found.by_length) : null;
    if (!facts) return;
    const { short, long, near, far: at, share } = facts;
    tell({ model: far!.card.name, short, long, near, far: at, share });
  }, [first.value, rest.value]);
  const lines = linesByLength(found);
  return (
    <Figure title={say("title")} table={() => chartTable(lines, say("length"))}>
      <Await of={first} height={420}>
        {() => (
          <Predicted first={far?.found ?? null} name={far?.card.name ?? ""}>
            <div class="stack">
              <div class="row">
                <Segmented
                  label={say("weights")}
                  value={mode}
                  onChange={(one: Mode) => setMode(one)}
                  choices={choices(MODES, (one) => say(one))}
                />
                {mode !== "trained" && <Button onClick={() => setSeed(seed + 1)}>{say("again")}</Button>}
              </div>
              <p class="small muted">
                {say(`about_${mode}`)} {mode !== "trained" && say("seed", { n: seed })}
              </p>
              {found.map(
                ({ card, problem }) =>
                  problem && (
                    <p key={card.name} class="note">
                      {say("failed", { model: card.name, reason: problem })}
                    </p>
                  ),
              )}
              <h3>{say("by_length")}</h3>
              <LineChart name={say("by_length")} lines={lines} xLabel={say("length")} log height={170} formatY={number} />
              <h3>{say("by_place")}</h3>
              <LineChart name={say("by_place")} lines={linesByPlace(found)} xLabel={say("place")} log height={170} formatY={number} />
              {cards.length > 1 && (
                <Await of={rest} height={20}>
                  {() => null}
                </Await>
              )}
            </div>
          </Predicted>
        )}
      </Await>
    </Figure>
  );
}

/** The model at hand and the first of each other architecture that reads texts. */
function trioOf(card: Card, all: readonly Card[]): Card[] {
  const others = arch.map((name) => (name === card.arch ? card : all.find((one) => one.arch === name && one.source === "text")));
  return others.filter((one) => one !== undefined);
}

/** One model after the other: the server takes one analysis of a reader at a time. The figure draws the first at once. */
function useMeasured(cards: readonly Card[], text: string, mode: Mode, seed: number) {
  const key = cards.length ? `gradients ${cards.map((one) => one.name).join(",")} ${mode} ${seed} ${text}` : null;
  return useResource<readonly Measured[]>(
    key,
    async (signal) => {
      const all: Measured[] = [];
      for (const card of cards) {
        const most = Number(card.limits.trace_tokens ?? 128) - 1;
        const body = {
          model: card.name,
          text,
          lengths: LENGTHS.filter((length) => length <= most),
          ...(mode === "trained" ? {} : { fresh: seed }),
          ...(mode === "one" && card.arch !== "transformer" ? { directions: 1 } : {}),
        };
        try {
          all.push({ card, found: await getGradients(body, signal), problem: null });
        } catch (error) {
          const problem = problemOf(error);
          if (signal.aborted || problem.status === 0 || problem.code === "extra_missing") throw error;
          all.push({ card, found: null, problem: problem.detail });
        }
      }
      return all;
    },
    { cache: true },
  );
}

const drawn = (all: readonly Measured[], points: (found: GradientsOut) => { x: number[]; y: number[] }): Line[] =>
  all.flatMap(({ card, found }) =>
    found
      ? [
          {
            id: card.name,
            label: card.name,
            colour: arch.indexOf(card.arch) + 1,
            dashed: card.arch !== "rnn",
            dots: true,
            ...points(found),
          },
        ]
      : [],
  );
const linesByLength = (all: readonly Measured[]) =>
  drawn(all, ({ by_length }) => ({ x: by_length.map((one) => one.length), y: by_length.map((one) => one.first) }));
const linesByPlace = (all: readonly Measured[]) => drawn(all, ({ norms }) => ({ x: range(norms.length, 1), y: [...norms] }));

function Predicted({ first, name, children }: { first: GradientsOut | null; name: string; children: ComponentChildren }) {
  const far = first?.by_length.at(-1);
  const [asked] = useState(far);
  if (!asked) return <>{children}</>;
  const share = asked.first / asked.largest;
  const right = share < 1e-6 ? 2 : share < 0.1 ? 1 : 0;
  return (
    <Reveal
      ask={say("ask", { n: asked.length, model: name })}
      options={SHARES.map((one) => say(`option_${one}`))}
      right={right}
      why={say(`why_${SHARES[right]}`, { first: number(asked.first), largest: number(asked.largest) })}
    >
      {children}
    </Reveal>
  );
}
