/** The question of a chapter, marked by the page against what its figures have drawn. */
import { useState } from "preact/hooks";
import { Button } from "../components/controls";
import { useName } from "../hooks";
import { number } from "../lib/format";
import { isRight, readNumber, rightAnswer, withFacts, type Facts, type Question as Asked } from "../lib/lessons";
import { Prose } from "./Prose";
import { wordsOf } from "./say";
import { frame } from "./words/frame";

const say = wordsOf(frame);
type Outcome = "right" | "wrong" | "shown" | "not_number" | "choose";

interface QuestionProps {
  of: Asked;
  facts: Facts;
  /** the figures that it asks about cannot be drawn here */
  cannot: boolean;
  onRight(): void;
}

export function Question({ of, facts, cannot, onRight }: QuestionProps) {
  const [draft, setDraft] = useState("");
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const id = useName("question");
  const right = rightAnswer(of, facts);
  const filled = (text: string) => withFacts(text, facts);
  const check = () => {
    const answer = of.kind === "choice" ? (draft === "" ? null : Number(draft)) : readNumber(draft);
    if (answer === null) return setOutcome(of.kind === "choice" ? "choose" : "not_number");
    const won = isRight(of, answer, facts) === true;
    setOutcome(won ? "right" : "wrong");
    if (won) onRight();
  };
  const edit = (value: string) => {
    setDraft(value);
    setOutcome(null);
  };
  return (
    <section class="card learn-question" aria-labelledby={id}>
      <h2 id={id}>{say("question")}</h2>
      {right === null ? (
        <p class="muted">{say(cannot ? "cannot" : "waiting")}</p>
      ) : (
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            check();
          }}
        >
          <p>
            <Prose text={filled(of.ask)} />
          </p>
          {of.kind === "choice" ? (
            <fieldset>
              <legend class="sr">{say("options")}</legend>
              {of.options.map((option, i) => (
                <label key={i}>
                  <input
                    type="radio"
                    name={id}
                    value={String(i)}
                    checked={draft === String(i)}
                    onChange={(event) => edit(event.currentTarget.value)}
                  />
                  <span>
                    <Prose text={filled(option)} />
                  </span>
                </label>
              ))}
            </fieldset>
          ) : (
            <input
              class="input"
              type="text"
              inputMode="decimal"
              autocomplete="off"
              aria-label={say("answer")}
              value={draft}
              onInput={(event) => edit(event.currentTarget.value)}
              // Enter that ends the composing of a character is not yet an answer
              onKeyDown={(event) => event.key === "Enter" && (event.isComposing || event.keyCode === 229) && event.preventDefault()}
            />
          )}
          <div class="row">
            <button type="submit" class="btn primary">
              {say("check")}
            </button>
            {outcome === "wrong" && <Button onClick={() => setOutcome("shown")}>{say("show")}</Button>}
          </div>
          <div class={`learn-mark ${outcome ?? ""}`} role="status">
            {outcome && <Mark of={of} outcome={outcome} right={right} filled={filled} />}
          </div>
        </form>
      )}
    </section>
  );
}

function Mark({ of, outcome, right, filled }: { of: Asked; outcome: Outcome; right: number; filled(text: string): string }) {
  if (outcome === "not_number" || outcome === "choose") return <p>{say(outcome)}</p>;
  const answer = of.kind === "choice" ? filled(of.options[right] ?? "") : number(right);
  return (
    <p>
      <b>{outcome === "shown" ? say("answer_is", { answer }) : say(outcome)}</b>{" "}
      <Prose text={filled(outcome === "wrong" ? of.hint : of.why)} />
    </p>
  );
}
