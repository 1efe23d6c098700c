/** A text cut into tokens, each with its id; the reader writes the text. */
import { useEffect, useState } from "preact/hooks";
import type { Arch, Manifest } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Await } from "../../components/states";
import { useTraceOf } from "../../hooks";
import { countsToOffer, lettersOf } from "../reckoning";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { cutting } from "../words/cutting";
import type { FigureProps } from ".";
import "./cutting.css";

export const arch: readonly Arch[] = ["transformer", "luong", "rnn"];
const say = wordsOf(cutting);
const UNSEEN = "🎉";
const PAUSE = 250;

/** A value once it has not changed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

export default function Cutting({ card, text, tell }: FigureProps) {
  const [draft, setDraft] = useState(text);
  const settled = useSettled(draft);
  const first = useTraceOf({ model: card.name, text });
  const unseen = useTraceOf({ model: card.name, text: UNSEEN });
  const trace = useTraceOf(settled.trim() === "" ? null : { model: card.name, text: settled });
  useEffect(() => {
    if (unseen.value) tell({ unseen: lettersOf(unseen.value) });
  }, [unseen.value]);
  return (
    <Await of={first} height={360}>
      {(manifest) => {
        const n = manifest.source.tokens.length;
        const options = countsToOffer(n, text);
        return (
          <Figure
            title={say("title")}
            words
            table={() => ({
              head: [say("token"), say("id")],
              rows: (trace.value ?? manifest).source.tokens.map((token) => [token.piece, token.id]),
            })}
          >
            <Reveal ask={say("ask", { text })} options={options.map(String)} right={options.indexOf(n)} why={say("why")}>
              <div class="stack">
                <input
                  class="input"
                  type="text"
                  dir="auto"
                  maxLength={120}
                  aria-label={say("text")}
                  value={draft}
                  onInput={(event) => setDraft(event.currentTarget.value)}
                />
                <Await of={trace} height={120} empty={<p class="muted">{say("empty")}</p>}>
                  {(now) => <Ids of={now} />}
                </Await>
              </div>
            </Reveal>
          </Figure>
        );
      }}
    </Await>
  );
}

/** Each token over its id. */
function Ids({ of }: { of: Manifest }) {
  const { tokens, text, lang, dir } = of.source;
  return (
    <>
      <ol class="ids" dir={dir} aria-label={say("tokens")}>
        {tokens.map((token) => (
          <li key={token.i} class={token.type}>
            <b lang={token.type === "special" ? undefined : lang}>
              {token.byte === undefined ? token.text.trim() || "␣" : token.piece.replace(/[<>]/g, "")}
            </b>
            <span class="term-1">{token.id}</span>
          </li>
        ))}
      </ol>
      <p class="small muted">{say("count", { n: tokens.length, characters: [...text].length })}</p>
    </>
  );
}
