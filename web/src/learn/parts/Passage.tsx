/** One token’s row on its way through a model: step by step, each with its numbers and how one of them was made. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Card } from "../../api-types";
import { IconButton, Select } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { Await, Loading } from "../../components/states";
import { Lines } from "../../components/Sums";
import { Tokens } from "../../components/Tokens";
import { useForward, useTensors, useTraceOf, type Resource } from "../../hooks";
import { t } from "../../i18n";
import { fixed } from "../../lib/format";
import { axesOf, bytesOf, gridOf, headsOf, isByToken, labelsFor, lettersOf, needOf, type Pass } from "../../lib/forward";
import { labelOf } from "../../lib/heatmap";
import { largest, row as rowOf, type Matrix } from "../../lib/matrix";
import { range } from "../../lib/range";
import { reach } from "../../screens/inside/head";
import { mostBytes, useMade } from "../../screens/inside/made";
import { partName, tensorName } from "../../screens/inside/names";
import { Reveal, type RevealProps } from "../Reveal";
import { wordsOf } from "../say";
import { passage } from "../words/passage";
import { Slider } from "./Slider";
import { Strip } from "./Strip";

const say = wordsOf(passage);

/** The pass of a sentence and its answer, or of a target that is given. */
export function usePass(card: Card, text: string, target?: string): Resource<Pass> {
  const trace = useTraceOf({ model: card.name, text, ...(target === undefined ? {} : { target }) });
  const pass = useForward(trace.value?.id);
  return trace.status === "error" ? { ...trace, value: null } : pass;
}

/** The matrices of some tensors of a pass; null until all are there. Those that are too large are left out of `places` by the caller. */
export function useGrids(pass: Pass | null, places: readonly number[]): readonly Matrix[] | null {
  const needs = places.map((place) => needOf(place));
  const tensors = useTensors(pass?.id, needs);
  const found = needs.flatMap((need) => tensors.value?.get(need) ?? []);
  return found.length === needs.length && needs.length > 0 ? found.map(gridOf) : null;
}

/** The steps of one stage: what is made there, without weights and masks. */
export const stepsOf = (pass: Pass, stage: string, also: readonly number[] = []): number[] => [
  ...also.filter((place) => place >= 0),
  ...range(pass.tensors.length).filter((place) => {
    const one = pass.tensors[place];
    return one.stage === stage && one.how !== "given" && isByToken(one);
  }),
];

interface PassageProps {
  title: string;
  pass: Pass;
  /** places of the tensors, in the order of computation */
  steps: readonly number[];
  side: "source" | "target";
  /** the token at first */
  token?: number;
  /** names of steps by their place, where the figure has better ones */
  notes?: Readonly<Record<number, string>>;
  /** colours of steps, as in the formula */
  terms?: Readonly<Record<number, number>>;
  /** a prediction before anything is drawn; null while it is on its way */
  reveal?: Omit<RevealProps, "children"> | null;
  /** drawn under the step */
  after?(step: number, token: number): ComponentChildren;
}

export function Passage({ title, pass, steps, side, token: first = 0, notes = {}, terms = {}, reveal, after }: PassageProps) {
  const [at, setAt] = useState(0);
  const [token, setToken] = useState(first);
  const [active, setActive] = useState<number | null>(null);
  const [head, setHead] = useState(0);
  const [dimension, setDimension] = useState<number | null>(null);
  const [rows, setRows] = useState<Readonly<Record<number, readonly number[]>>>({});
  const shown = active ?? token;
  const place = steps[Math.min(at, steps.length - 1)];
  const one = pass.tensors[place];
  const heads = headsOf(one);
  return (
    <Figure
      title={title}
      words
      table={() => ({
        head: [say("step"), ...range(8).map((n) => String(n + 1))],
        rows: steps.flatMap((step) => (rows[step] ? [[tensorName(pass.tensors[step].operation), ...rows[step].slice(0, 8)]] : [])),
      })}
    >
      <Predicted of={reveal}>
        <div class="stack passage">
          <Tokens
            name={say(side === "source" ? "tokens_read" : "tokens_written")}
            side={pass[side]}
            active={active}
            locked={token}
            onActive={setActive}
            onLock={(to) => to !== null && setToken(to)}
          />
          <div class="row between">
            <p>
              <span class="small muted">
                {say("step_of", { n: at + 1, all: steps.length })}
                {partName(one.operation) && ` · ${partName(one.operation)}`}
              </span>
              <br />
              <b class={terms[place] ? `passage-name term-${terms[place]}` : "passage-name"}>{tensorName(one.operation)}</b>
            </p>
            <div class="row inside-play">
              <IconButton icon="prev" label={say("before")} disabled={at === 0} onClick={() => setAt(at - 1)} />
              <IconButton icon="next" label={say("next")} disabled={at === steps.length - 1} onClick={() => setAt(at + 1)} />
            </div>
          </div>
          <Slider
            label={say("step")}
            value={at + 1}
            min={1}
            max={steps.length}
            shown={`${at + 1} / ${steps.length}`}
            onChange={(n) => setAt(n - 1)}
          />
          <p class="small">{notes[place] ?? t(`layers.how_${one.how}`)}</p>
          {heads > 1 && (
            <Select
              label={t("layers.head")}
              value={String(head + 1)}
              choices={range(heads, 1).map((n) => ({ value: String(n), label: String(n) }))}
              onChange={(n) => setHead(Number(n) - 1)}
            />
          )}
          <Row
            key={place}
            {...{ pass, place, side, dimension, setDimension }}
            token={shown}
            head={Math.min(head, Math.max(0, heads - 1))}
            keep={(values) => setRows((old) => ({ ...old, [place]: values }))}
          />
          {after?.(place, shown)}
        </div>
      </Predicted>
    </Figure>
  );
}

/** Nothing before the prediction; null: it is on its way. */
function Predicted({ of, children }: { of?: Omit<RevealProps, "children"> | null; children: ComponentChildren }) {
  if (of === null) return <Loading height={320} />;
  return of ? <Reveal {...of}>{children}</Reveal> : <div>{children}</div>;
}

interface RowProps {
  pass: Pass;
  place: number;
  side: "source" | "target";
  token: number;
  head: number;
  /** null: none was chosen yet */
  dimension: number | null;
  setDimension(n: number): void;
  keep(values: readonly number[]): void;
}

/** The row of the token in one tensor, and one of its numbers. */
function Row({ pass, place, side, token, head, dimension, setDimension, keep }: RowProps) {
  const one = pass.tensors[place];
  const large = headsOf(one) === 0 && bytesOf(one) > mostBytes();
  const need = needOf(place, headsOf(one) > 0 ? head : large ? token : null);
  const tensors = useTensors(pass.id, [need]);
  const found = tensors.value?.get(need);
  const grid = found && gridOf(found);
  const row = large ? 0 : Math.min(token, (grid?.rows ?? 1) - 1);
  const values = grid && rowOf(grid, row);
  useEffect(() => values && keep(Array.from(values.subarray(0, 8))), [need, found, row]);
  if (!grid || !values)
    return (
      <Await of={tensors} height={160}>
        {() => null}
      </Await>
    );
  const letter = lettersOf(one)[1];
  const names = labelsFor(pass, letter, grid.cols, axesOf(one)[0] === "H");
  const compares = ["scores", "divide", "softmax"].includes(one.how) || letter.startsWith("V");
  const chosen = Math.min(dimension ?? (compares ? largest(values, 1)[0] : 0), grid.cols - 1);
  const [down] = lettersOf(one);
  const other = down === (side === "source" ? "T" : "S") ? labelOf(labelsFor(pass, down, grid.rows)[row]).text : null;
  return (
    <div class="stack">
      {other !== null && <p class="small muted">{say("other_row", { token: other })}</p>}
      {!letter.startsWith("V") && (
        <>
          <Strip values={values} max={reach(grid)} name={say("row_of", { n: values.length })} />
          <p class="passage-numbers">
            {Array.from(values.subarray(0, 6), (value) => fixed(value, 2)).join("  ")}
            {values.length > 6 && `  … (${values.length})`}
          </p>
        </>
      )}
      {grid.cols > 1 && (
        <Slider
          label={say("number")}
          value={chosen + 1}
          min={1}
          max={grid.cols}
          shown={["S", "T"].includes(letter) ? `${chosen + 1}: ${labelOf(names[chosen]).text}` : labelOf(names[chosen]).text}
          onChange={(n) => setDimension(n - 1)}
        />
      )}
      <MadeOf {...{ pass, place, names }} at={{ head, row: large ? token : row, col: chosen }} value={values[chosen]} />
    </div>
  );
}

interface MadeOfProps {
  pass: Pass;
  place: number;
  at: { head: number; row: number; col: number };
  value: number;
  names: ReturnType<typeof labelsFor>;
}

function MadeOf({ pass, place, at, value, names }: MadeOfProps) {
  const one = pass.tensors[place];
  const { light, tensors, lines } = useMade(pass, place, at);
  if (one.inputs.length === 0 || one.how === "opaque") return null;
  if (!light) return <p class="small muted">{t("layers.too_large")}</p>;
  const of = lines(value);
  return (
    <div class="passage-sum">
      {of ? (
        <Lines of={of} names={names} most={6} />
      ) : (
        <Await of={tensors} height={120}>
          {() => null}
        </Await>
      )}
    </div>
  );
}
