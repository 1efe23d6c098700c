/** From an id to the vector that the first layer reads: a row of the table, and the row of its position. */
import { useEffect, useMemo } from "preact/hooks";
import type { Arch } from "../../api-types";
import { Await } from "../../components/states";
import { fixed } from "../../lib/format";
import { bytesOf, embeddingOf, placeOf, type Pass } from "../../lib/forward";
import { row, type Matrix } from "../../lib/matrix";
import { mostBytes } from "../../screens/inside/made";
import { Passage, useGrids, usePass } from "../parts";
import { wordsOf } from "../say";
import { embeddingRow } from "../words/embedding-row";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(embeddingRow);

export default function EmbeddingRow({ card, text, tell }: FigureProps) {
  const pass = usePass(card, text);
  return (
    <Await of={pass} height={420}>
      {(found) => <Rows pass={found} tell={tell} />}
    </Await>
  );
}

const distance = (m: Matrix, a: number, b: number): number => Math.hypot(...Array.from(row(m, a), (value, d) => value - row(m, b)[d]));

/** Two places of a sentence with the same token; null where none stands twice. */
export function twins(ids: readonly number[]): readonly [number, number] | null {
  for (let a = 0; a < ids.length; a++) {
    const b = ids.indexOf(ids[a], a + 1);
    if (b > 0) return [a, b];
  }
  return null;
}

function Rows({ pass, tell }: { pass: Pass } & Pick<FigureProps, "tell">) {
  const embedded = embeddingOf(pass, "encoder");
  const [positions, sum] = ["positions", "+ positions"].map((name) => placeOf(pass, "encoder", name));
  const tokens = pass.source.tokens;
  const pair = useMemo(() => twins(tokens.map((token) => token.id)), [pass]);
  const asks = pair !== null && sum >= 0 && bytesOf(pass.tensors[sum]) <= mostBytes() / 2;
  const compared = useGrids(asks ? pass : null, [embedded, sum]);
  const at = pair?.[0] ?? 0;
  const width = pass.sizes.D;
  const vocab = pass.sizes.V_src ?? pass.sizes.V;
  useEffect(() => tell({ width, vocab, all: width * vocab, id: tokens[at].id, token: tokens[at].text }), [pass]);
  const steps = [embedded, positions, sum].filter((place) => place >= 0);
  const notes = {
    [embedded]: say("note_lookup", { scale: fixed(pass.tensors[embedded]?.number ?? 1, 2) }),
    [positions]: say("note_positions"),
    [sum]: say("note_sum"),
  };
  const apart = (pair && compared?.map((grid) => distance(grid, ...pair))) ?? null;
  return (
    <Passage
      title={say("title")}
      pass={pass}
      steps={steps}
      side="source"
      token={at}
      notes={notes}
      after={(_, token) => (
        <>
          <OneHot of={pass} token={token} vocab={vocab} />
          {sum < 0 && <p class="small muted">{say("no_positions")}</p>}
        </>
      )}
      terms={{ [embedded]: 2, [positions]: 4, [sum]: 3 }}
      reveal={
        !asks
          ? undefined
          : apart && {
              ask: say("ask", { token: tokens[pair[0]].text, a: pair[0] + 1, b: pair[1] + 1 }),
              options: [say("never"), say("before_only"), say("both")],
              right: apart[0] > 1e-6 ? 0 : apart[1] > 1e-6 ? 1 : 2,
              why: say("why", { before: fixed(apart[0], 2), after: fixed(apart[1], 2) }),
            }
      }
    />
  );
}

/** The product with a one-hot vector in words: every row times 0, one times 1. */
const OneHot = ({ of, token, vocab }: { of: Pass; token: number; vocab: number }) => (
  <p class="small muted">
    {say("one_hot", { token: of.source.tokens[token]?.text ?? "", id: of.source.tokens[token]?.id ?? 0, vocab, zeros: vocab - 1 })}
  </p>
);
