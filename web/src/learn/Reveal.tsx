/** Predict, then reveal: a question about what a figure is about to show. The answer is drawn only when the reader has said what to expect. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../components/controls";
import { Icon } from "../components/Icon";
import { Loading } from "../components/states";
import { wordsOf } from "./say";
import { frame } from "./words/frame";

const say = wordsOf(frame);

export interface RevealProps {
  /** what to predict */
  ask: ComponentChildren;
  options: readonly string[];
  /** language of the options, where they are tokens */
  lang?: string;
  /** index of what will be seen; null while it is being computed */
  right: number | null;
  /** called with the first prediction: what costs much is computed only then */
  onGuess?(): void;
  /** said with the outcome: why it is so */
  why?: ComponentChildren;
  /** drawn after the prediction */
  children: ComponentChildren;
}

/** A new question needs a new `key`. */
export function Reveal({ ask, options, lang, right, onGuess, why, children }: RevealProps) {
  const [guess, setGuess] = useState<number | "skipped" | null>(null);
  const made = guess !== null;
  const told = made && right !== null;
  const names = { right: options[right ?? -1] ?? "", guess: typeof guess === "number" ? options[guess] : "" };
  return (
    <div class="reveal">
      <div class="reveal-ask">
        <p>
          <b>{say("predict")}.</b> {ask}
        </p>
        <div class="row" role="group" aria-label={say("predict")}>
          {options.map((option, i) => (
            <button
              key={i}
              type="button"
              class={`chip${told && i === right ? " on" : ""}`}
              lang={lang}
              aria-pressed={guess === i}
              aria-disabled={made}
              onClick={() => {
                if (made) return;
                setGuess(i);
                onGuess?.();
              }}
            >
              {told && i === right && <Icon name="check" size={14} />}
              {option}
            </button>
          ))}
          <Button
            kind="quiet"
            onClick={() => {
              setGuess(made ? null : "skipped");
              if (!made) onGuess?.();
            }}
          >
            {say(made ? "predict_again" : "skip")}
          </Button>
        </div>
        <p class="reveal-told" role="status">
          {told && (
            <>
              <b>{say(guess === right ? "as_predicted" : guess === "skipped" ? "it_is" : "otherwise", names)}</b> {why}
            </>
          )}
        </p>
      </div>
      {told ? children : made && <Loading height={80} />}
    </div>
  );
}
