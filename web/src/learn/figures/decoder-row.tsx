/** One decoder layer with nothing left out: masked self-attention, cross-attention, feed-forward, each with add and norm. */
import { useEffect } from "preact/hooks";
import type { Arch } from "../../api-types";
import { Await } from "../../components/states";
import { Passage, stepsOf, usePass } from "../parts";
import { wordsOf } from "../say";
import { decoderRow } from "../words/decoder-row";
import { inputOf, termsOf } from "./encoder-row";
import type { FigureProps } from ".";

export const arch: readonly Arch[] = ["transformer"];
const say = wordsOf(decoderRow);

export default function DecoderRow({ card, text, tell }: FigureProps) {
  const pass = usePass(card, text);
  const steps = pass.value?.target.tokens.length ?? 0;
  useEffect(() => {
    if (steps > 0) tell({ steps, source: pass.value!.source.tokens.length, pairs: (steps * (steps + 1)) / 2, square: steps * steps });
  }, [steps]);
  return (
    <Await of={pass} height={480}>
      {(found) => (
        <Passage
          title={say("title")}
          pass={found}
          steps={stepsOf(found, "decoder layer 1", [inputOf(found, "decoder")])}
          side="target"
          terms={termsOf(found, "decoder layer 1")}
          token={Math.min(5, found.target.tokens.length - 1)}
        />
      )}
    </Await>
  );
}
