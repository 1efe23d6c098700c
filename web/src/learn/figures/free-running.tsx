/** Teacher forcing, free running, and one wrong token: what each model at hand writes after it. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { postJson } from "../../api";
import type { Arch, Card, DecoderRun, FreeRunning } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Await, Empty } from "../../components/states";
import { choices, Segmented, Select } from "../../components/controls";
import { ApiError } from "../../errors";
import { useResource } from "../../hooks";
import { t } from "../../i18n";
import { fixed } from "../../lib/format";
import { models } from "../../state";
import { isDates, outcome, useReference, wrongTokens } from "../parts";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { freeRunningWords } from "../words/free-running";
import type { FigureProps } from ".";
import "./free-running.css";

export const arch: readonly Arch[] = ["rnn", "luong", "transformer"];
const say = wordsOf(freeRunningWords);

/** A model with its runs; null where it does not know the wrong token. */
interface Runner {
  readonly card: Card;
  readonly runs: FreeRunning | null;
}

export default function FreeRunningFigure({ card, text, tell }: FigureProps) {
  const reference = useReference(card, text);
  return <Await of={reference}>{(target) => <Runs key={target} {...{ card, text, target, tell }} />}</Await>;
}

/** One model of each architecture that writes what this one writes. */
const siblings = (card: Card): readonly Card[] =>
  arch.flatMap((name) => {
    const fits = (one: Card) => one.arch === name && one.source === "text" && one.target_language === card.target_language;
    return card.arch === name ? [card] : ((models.value ?? []).find(fits) ?? []);
  });

function Runs({ card, text, target, tell }: FigureProps & { target: string }) {
  const [place, setPlace] = useState<number | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const cards = siblings(card);
  const first = useResource(
    `free ${card.name} ${text} ${target}`,
    (signal) => postJson<FreeRunning>("/v1/free-running", { model: card.name, text, target }, signal),
    { cache: true },
  );
  const tokens = first.value?.forced.tokens ?? [];
  const nothing = first.value !== null && tokens.length < 2;
  const slip = place ?? Math.min(tokens.length - 2, Math.floor(tokens.length / 3) + 1);
  const offered = first.value && !nothing ? wrongTokens(first.value.forced, slip) : [];
  const instead = wrong !== null && offered.includes(wrong) ? wrong : offered[0];
  const all = useResource(
    first.value && !nothing ? `slipped ${cards.map((one) => one.name)} ${text} ${target} ${slip} ${instead}` : null,
    (signal) => Promise.all(cards.map((one) => runner(one, { text, target, slip, wrong: instead }, signal))),
    { cache: true },
  );
  if (nothing)
    return (
      <div class="figure learn-lack">
        <Empty title={say("title")}>
          <p>{say("nothing")}</p>
        </Empty>
      </div>
    );
  return (
    <Await of={first} height={480}>
      {() => (
        <Await of={all} height={480}>
          {(runners) => (
            <Shown {...{ runners, card, text, target, slip, instead, tell }}>
              <Segmented
                label={say("place")}
                value={String(slip)}
                choices={tokens.slice(0, -1).map((token, i) => ({ value: String(i), label: token.text.trim() || "␣" }))}
                onChange={(value) => setPlace(Number(value))}
              />
              <Select label={say("wrong")} value={instead} choices={choices(offered, (one) => one)} onChange={setWrong} />
            </Shown>
          )}
        </Await>
      )}
    </Await>
  );
}

async function runner(card: Card, asked: object, signal: AbortSignal): Promise<Runner> {
  try {
    return { card, runs: await postJson<FreeRunning>("/v1/free-running", { model: card.name, ...asked }, signal) };
  } catch (error) {
    if (error instanceof ApiError && error.code === "bad_parameter") return { card, runs: null };
    throw error;
  }
}

/** Places that are wrong besides the one put in. */
const more = ({ runs }: Runner): number => (runs?.slipped ? runs.slipped.wrong - 1 : 0);

interface ShownProps extends FigureProps {
  runners: readonly Runner[];
  target: string;
  slip: number;
  instead: string;
  children: ComponentChildren;
}

const nameOf = (card: Card) => t(`shell.arch_${card.arch}`);

function Shown({ runners, card, text, target, slip, instead, tell, children }: ShownProps) {
  const known = runners.filter((one) => one.runs);
  const own = known.find((one) => one.card === card) ?? known[0];
  const each = (of: readonly Runner[]) => of.map((one) => `${nameOf(one.card)}: ${more(one)}`).join("; ");
  const archs = known.map((one) => one.card.arch);
  const recovered = known.filter((one) => more(one) === 0).map((one) => one.card.arch);
  const right = own?.runs?.forced.tokens[slip].text ?? "";
  useEffect(() => {
    if (!own?.runs?.slipped) return;
    tell({
      model: nameOf(own.card),
      place: slip + 1,
      more: more(own),
      others: each(known.filter((one) => one !== own)) || "–",
      forced: own.runs.forced.loss,
      slipped: own.runs.slipped.loss,
    });
  }, [runners]);
  return (
    <Figure
      title={say("title")}
      words
      table={() => ({
        head: [say("run"), ...(own?.runs?.forced.tokens ?? []).map((token) => token.text), say("mean")],
        rows: known.flatMap(({ card: one, runs }) =>
          runsOf(runs!).map(([key, run]) => [
            `${nameOf(one)}, ${say(key)}`,
            ...runs!.forced.tokens.map((_, i) => run.tokens[i]?.text ?? ""),
            run.loss,
          ]),
        ),
      })}
    >
      <div class="stack runs-figure">
        <p class="small">{say("intro", { text, target })}</p>
        {!isDates(card) && <p class="note">{say("own")}</p>}
        <div class="runs-choose">{children}</div>
        {runners
          .filter((one) => !one.runs)
          .map((one) => (
            <p key={one.card.name} class="note">
              {say("failed", { model: nameOf(one.card) })}
            </p>
          ))}
        <Table of={known} keys={["forced", "free"]} slip={slip} />
        <Reveal
          ask={say("ask", { n: slip + 1, right, wrong: instead })}
          options={[say("none"), say("attention"), say("all"), say("mix")]}
          right={outcome(recovered, archs)}
          why={say("why", { each: each(known) })}
        >
          <Table of={known} keys={["slipped"]} slip={slip} />
        </Reveal>
        <p class="note">{say("bars")}</p>
      </div>
    </Figure>
  );
}

type Key = "forced" | "free" | "slipped";
const runsOf = (runs: FreeRunning): readonly (readonly [Key, DecoderRun])[] =>
  (["forced", "free", "slipped"] as const).flatMap((key) => (runs[key] ? [[key, runs[key]] as const] : []));

/** Runs as rows: what stands at each place, with the loss of the reference under it. */
function Table({ of, keys, slip }: { of: readonly Runner[]; keys: readonly Key[]; slip: number }) {
  const reference = of[0]?.runs?.forced.tokens ?? [];
  const shown = of.flatMap(({ card, runs }) => runsOf(runs!).flatMap(([key, run]) => (keys.includes(key) ? [{ card, key, run }] : [])));
  const columns = Math.max(reference.length, ...shown.map(({ run }) => run.tokens.length));
  const most = Math.max(1, ...shown.flatMap(({ run }) => run.tokens.map((token) => token.loss ?? 0)));
  return (
    <div class="runs" role="region" aria-label={keys.map((key) => say(key)).join(", ")} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="row">{say("reference")}</th>
            {Array.from({ length: columns }, (_, i) => (
              <th key={i} scope="col" class={i === slip ? "slip" : undefined}>
                {reference[i]?.text.trim()}
              </th>
            ))}
            <th scope="col">{say("mean")}</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ card, key, run }) => (
            <tr key={card.name + key}>
              <th scope="row">
                {nameOf(card)} <small>{say(key)}</small>
              </th>
              {Array.from({ length: columns }, (_, i) => {
                const token = run.tokens[i];
                if (!token) return <td key={i} />;
                const [text, right] = key === "forced" ? [token.best[0].text, token.best[0].id === token.id] : [token.text, token.right];
                return (
                  <td key={i} class={`${right ? "" : "wrong"}${key === "slipped" && i === slip ? " slip" : ""}`}>
                    <span>{text.trim() || "␣"}</span>
                    {!right && <span class="sr">, {say(key === "slipped" && i === slip ? "put_in" : "is_wrong")}</span>}
                    {token.loss !== null && (
                      <i style={{ "--loss": `${(100 * token.loss) / most}%` }} title={`${say("loss")} ${fixed(token.loss, 2)}`} />
                    )}
                  </td>
                );
              })}
              <td class="num">{fixed(run.loss, 2)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
