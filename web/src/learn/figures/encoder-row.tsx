/** One encoder layer with nothing left out: one token’s row from the embedding to the second norm. */
import { useEffect } from "preact/hooks";
import type { Arch } from "../../api-types";
import { Await } from "../../components/states";
import { percent } from "../../lib/format";
import { bytesOf, embeddingOf, placeOf, type Pass } from "../../lib/forward";
import { row } from "../../lib/matrix";
import { mostBytes } from "../../screens/inside/made";
import { Passage, stepsOf, useGrids, usePass } from "../parts";
import { wordsOf } from "../say";
import { encoderRow } from "../words/encoder-row";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(encoderRow);
const STAGE = "encoder layer 1";

export default function EncoderRow({ card, text, tell }: FigureProps) {
  const pass = usePass(card, text);
  return (
    <Await of={pass} height={480}>
      {(found) => <Layer pass={found} tell={tell} />}
    </Await>
  );
}

/** Where the first layer’s input stands: with positions, or without where the model adds none. */
export function inputOf(pass: Pass, stage: "encoder" | "decoder"): number {
  const placed = placeOf(pass, stage, "+ positions");
  return placed >= 0 ? placed : embeddingOf(pass, stage);
}

/** Colours of the steps of a layer, as its formulas have them: attention 2, add and norm 3, feed-forward 4, cross-attention 5. */
export const termsOf = (pass: Pass, stage: string): Record<number, number> =>
  Object.fromEntries(
    pass.tensors.flatMap(({ stage: at, operation, how }, place) => {
      if (at !== stage) return [[place, 1]];
      const [part] = operation.split(": ");
      const sum = ["sum", "mean", "variance", "norm", "square", "rms"].includes(how);
      return [[place, sum ? 3 : part === "FFN" ? 4 : part === "cross-attention" ? 5 : 2]];
    }),
  );

function Layer({ pass, tell }: { pass: Pass } & Pick<FigureProps, "tell">) {
  const token = Math.floor(pass.source.tokens.length / 3);
  const hidden = pass.tensors.findIndex(({ stage, operation }) => stage === STAGE && operation.startsWith("FFN: h = "));
  const norm = pass.tensors.findIndex((one) => one.stage === STAGE && one.how === "norm");
  const [x, mean, variance] = norm < 0 ? [] : pass.tensors[norm].inputs;
  const places = [hidden, ...(norm < 0 ? [] : [x, mean, variance])];
  const small = places.reduce((sum, place) => sum + bytesOf(pass.tensors[place]), 0) <= mostBytes();
  const grids = useGrids(small ? pass : null, places);
  useEffect(() => {
    if (!grids || norm < 0) return;
    const [, values, means, variances] = grids;
    const [m, v] = [means.data[token], variances.data[token]];
    const numbers = Array.from(row(values, token));
    const at = numbers.reduce((best, value, d) => (Math.abs(value - m) > Math.abs(numbers[best] - m) ? d : best), 0);
    const root = Math.sqrt(v + (pass.tensors[norm].number ?? 0));
    tell({ token: pass.source.tokens[token].text, dim: at + 1, x: numbers[at], mean: m, variance: v, root, z: (numbers[at] - m) / root });
  }, [grids]);
  const values = grids && row(grids[0], token);
  const zeros = values?.filter((value) => value === 0).length ?? 0;
  return (
    <Passage
      title={say("title")}
      pass={pass}
      steps={stepsOf(pass, STAGE, [inputOf(pass, "encoder")])}
      side="source"
      token={token}
      after={() => (pass.tensors.some(({ how }) => how === "norm" || how === "rms") ? null : <p class="small muted">{say("no_norm")}</p>)}
      terms={termsOf(pass, STAGE)}
      reveal={
        !small
          ? undefined
          : values && {
              ask: say("ask", { token: pass.source.tokens[token].text, n: values.length }),
              options: [say("none"), say("quarter"), say("half"), say("most"), say("all")],
              right: Math.round((4 * zeros) / values.length),
              why: say("why", { zeros, n: values.length, share: percent(zeros / values.length) }),
            }
      }
    />
  );
}
