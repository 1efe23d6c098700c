/** From a look back to a word: context and state side by side, W_c, tanh, W_out, softmax. */
import { useEffect, useMemo } from "preact/hooks";
import type { Arch, Manifest } from "../../api-types";
import { Await } from "../../components/states";
import { useTraceOf } from "../../hooks";
import { bytesOf, placeOf, type Pass } from "../../lib/forward";
import { largest, matrix, product, row, type Matrix } from "../../lib/matrix";
import { range } from "../../lib/range";
import { mostBytes } from "../../screens/inside/made";
import { Amounts, Passage, useGrids, usePass } from "../parts";
import { wordsOf } from "../say";
import { luongEnd } from "../words/luong-end";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["luong"];
const say = wordsOf(luongEnd);

export default function LuongEnd({ card, text, tell }: FigureProps) {
  const trace = useTraceOf({ model: card.name, text });
  const pass = usePass(card, text);
  return (
    <Await of={pass} height={480}>
      {(found) => (trace.value ? <ToTheEnd pass={found} manifest={trace.value} tell={tell} /> : null)}
    </Await>
  );
}

/** Colours of the steps, as in the formulas. */
const TERMS: Readonly<Record<string, number>> = {
  "α_t = softmax(E_t)": 2,
  "c_t = α_t H": 3,
  "[c_t; s_t]": 3,
  "[c_t; s_t] W_c": 4,
  "s̃_t = tanh([c_t; s_t] W_c)": 4,
  logits: 5,
  "p = softmax(logits)": 6,
};

/** The best token of each step when one half of [c; s] is set to 0: tanh(half W_c) W_out. */
export function bestWithout(half: "c" | "s", both: Matrix, wc: Matrix, wout: Matrix): number[] {
  const width = both.cols / 2;
  const left = matrix(
    both.rows,
    both.cols,
    both.data.map((value, i) => (i % both.cols < width === (half === "c") ? 0 : value)),
  );
  const bent = product(left, wc);
  const logits = product({ ...bent, data: bent.data.map(Math.tanh) }, wout);
  return range(both.rows).map((r) => largest(row(logits, r), 1)[0]);
}

function ToTheEnd({ pass, manifest, tell }: { pass: Pass; manifest: Manifest } & Pick<FigureProps, "tell">) {
  const [both, wc, inner] = ["[c_t; s_t]", "W_c", "[c_t; s_t] W_c"].map((name) => placeOf(pass, "attention", name));
  const wout = placeOf(pass, "output", "W_out");
  const places = [inner, both, wc, wout];
  const small = places.reduce((sum, place) => sum + bytesOf(pass.tensors[place]), 0) <= mostBytes();
  const grids = useGrids(pass, small ? places : [inner]);
  const token = Math.floor(manifest.steps.length / 2);
  const kept = useMemo(() => {
    if (!small || !grids) return null;
    const written = manifest.steps.map((step) => step.id);
    const same = (half: "c" | "s") => bestWithout(half, grids[1], grids[2], grids[3]).filter((id, t) => id === written[t]).length;
    return { c: same("c"), s: same("s"), all: written.length };
  }, [grids, small]);
  useEffect(() => {
    if (!grids) return;
    const values = Array.from(row(grids[0], token));
    // a number that tanh bends, so that it can be told from the number itself
    const at = values.reduce((best, z, d) => (Math.abs(Math.abs(z) - 1) < Math.abs(Math.abs(values[best]) - 1) ? d : best), 0);
    const told = { z: values[at], out: Math.tanh(values[at]), dim: at + 1, width: pass.sizes.D, both: 2 * pass.sizes.D };
    tell({ ...told, token: manifest.steps[token].text });
  }, [grids]);
  const steps = pass.tensors.flatMap((one, place) => {
    const own = one.stage === "attention" ? one.how !== "given" : one.operation === "logits" || one.operation.startsWith("p =");
    return own && !one.axes.startsWith("[B,S") ? [place] : [];
  });
  return (
    <Passage
      title={say("title")}
      pass={pass}
      steps={steps}
      side="target"
      token={token}
      terms={Object.fromEntries(steps.map((place) => [place, TERMS[pass.tensors[place].operation] ?? 1]))}
      after={(place, at) => (pass.tensors[place].stage === "output" ? <Top manifest={manifest} at={at} /> : null)}
      reveal={
        !small
          ? undefined
          : kept && {
              ask: say("ask"),
              options: [say("without_c"), say("without_s"), say("alike")],
              right: kept.c < kept.s ? 0 : kept.c > kept.s ? 1 : 2,
              why: say("why", kept),
            }
      }
    />
  );
}

/** The five best tokens of a step and their probabilities. */
function Top({ manifest, at }: { manifest: Manifest; at: number }) {
  const top = manifest.steps[at]?.top ?? [];
  return (
    <Amounts
      labels={top.map(({ text }) => ({ text, lang: manifest.target.lang }))}
      on={top.findIndex(({ id }) => id === manifest.steps[at].id)}
      of={[{ name: say("probability"), term: 6, values: top.map(({ logprob }) => Math.exp(logprob ?? -Infinity)), full: 1, decimals: 4 }]}
    />
  );
}
