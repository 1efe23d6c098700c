/** From a look back to a word: context and state side by side, W_c, tanh, W_out, softmax. */
import { useEffect } from "preact/hooks";
import type { Arch, Manifest } from "../../api-types";
import { Await } from "../../components/states";
import { useTraceOf } from "../../hooks";
import { percent } from "../../lib/format";
import { placeOf, type Pass } from "../../lib/forward";
import { row } from "../../lib/matrix";
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

/** The step that the model was least sure of. */
export const leastSure = (manifest: Manifest): number =>
  manifest.steps.reduce((worst, step, t) => ((step.logprob ?? 0) < (manifest.steps[worst].logprob ?? 0) ? t : worst), 0);

function ToTheEnd({ pass, manifest, tell }: { pass: Pass; manifest: Manifest } & Pick<FigureProps, "tell">) {
  const token = leastSure(manifest);
  const inner = placeOf(pass, "attention", "[c_t; s_t] W_c");
  const grids = useGrids(pass, [inner]);
  useEffect(() => {
    if (!grids) return;
    const values = Array.from(row(grids[0], token));
    // a number that tanh bends, so that it can be told from the number itself
    const at = values.reduce((best, z, d) => (Math.abs(Math.abs(z) - 1) < Math.abs(Math.abs(values[best]) - 1) ? d : best), 0);
    tell({ z: values[at], out: Math.tanh(values[at]), dim: at + 1, width: pass.sizes.D, both: 2 * pass.sizes.D });
  }, [grids]);
  const names = pass.tensors.flatMap((one, place) =>
    (one.stage === "attention" && one.how !== "given") || one.operation === "logits" || one.operation.startsWith("p =") ? [place] : [],
  );
  const steps = names.filter((place) => !pass.tensors[place].axes.startsWith("[B,S"));
  const sure = Math.exp(manifest.steps[token].logprob ?? 0);
  const bins = [0.5, 0.9, 0.99];
  return (
    <Passage
      title={say("title")}
      pass={pass}
      steps={steps}
      side="target"
      token={token}
      terms={Object.fromEntries(steps.map((place) => [place, TERMS[pass.tensors[place].operation] ?? 1]))}
      after={(place, at) => (pass.tensors[place].stage === "output" ? <Top manifest={manifest} at={at} /> : null)}
      reveal={{
        ask: say("ask", { token: manifest.steps[token].text, n: token + 1 }),
        options: [say("below"), say("half"), say("high"), say("sure")],
        right: bins.filter((bound) => sure >= bound).length,
        why: say("why", { p: percent(sure) }),
      }}
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
