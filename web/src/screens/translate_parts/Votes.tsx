/** For an ensemble: how probable each member finds every token of the answer, and what it wanted instead. */
import { getVotes } from "../../api";
import type { Card, VotedToken, Votes as VotesOut, VoteStep } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Await } from "../../components/states";
import { useResource } from "../../hooks";
import { t } from "../../i18n";
import { percent } from "../../lib/format";
import { firstDispute, votesTable, wishes } from "../../lib/votes";
import { params, setParams } from "../../state";

/** `target`: the finished answer, so that the votes are those for what stands above. */
export function Votes({ card, text, target }: { card: Card; text: string; target: string }) {
  const body = { model: card.name, text, target };
  const found = useResource(`votes ${JSON.stringify(body)}`, (signal) => getVotes(body, signal), { cache: true });
  return (
    <div class="card">
      <Await of={found} height={200}>
        {(votes) => <Ballot votes={votes} />}
      </Await>
    </div>
  );
}

function Ballot({ votes }: { votes: VotesOut }) {
  const asked = Number(params.value.q ?? firstDispute(votes));
  const chosen = Math.min(Math.max(asked, 0), votes.steps.length - 1);
  const words = { step: t("translate.votes_step"), token: t("translate.column_token"), together: t("translate.votes_together") };
  const caption = t(votes.mean === "logs" ? "translate.votes_caption_logs" : "translate.votes_caption");
  return (
    <Figure title={t("translate.votes_title")} caption={<p>{caption}</p>} table={() => votesTable(votes, words)} words bare file="votes">
      <div class="votes">
        <table class="votes-table">
          <thead>
            <tr>
              <th scope="col">{words.token}</th>
              <th scope="col">{words.together}</th>
              {votes.members.map((member) => (
                <th key={member.name} scope="col">
                  <bdi>{member.name}</bdi>
                </th>
              ))}
              <th scope="col">{t("translate.votes_instead")}</th>
            </tr>
          </thead>
          <tbody>
            {votes.steps.map((step, n) => (
              <Step key={n} votes={votes} step={step} on={n === chosen} onChoose={() => setParams({ q: n })} />
            ))}
          </tbody>
        </table>
        {votes.steps[chosen] && <Candidates votes={votes} step={votes.steps[chosen]} />}
      </div>
    </Figure>
  );
}

interface StepProps {
  votes: VotesOut;
  step: VoteStep;
  on: boolean;
  onChoose(): void;
}

function Step({ votes, step, on, onChoose }: StepProps) {
  const others = wishes(votes, step);
  return (
    <tr class={on ? "on" : undefined}>
      <th scope="row">
        <button type="button" class="chip" aria-pressed={on} onClick={onChoose}>
          <bdi>{step.text.trim() || "␣"}</bdi>
        </button>
      </th>
      <Share p={step.p} />
      {step.members.map((p, n) => (
        <Share key={n} p={p} />
      ))}
      <td class="small muted">
        {others.map((wish) => (
          <span key={wish.member} class="votes-wish">
            <bdi>{wish.member}</bdi>: <bdi>{wish.text.trim() || "␣"}</bdi> {percent(wish.p)}
          </span>
        ))}
      </td>
    </tr>
  );
}

/** What could have come at one step. */
function Candidates({ votes, step }: { votes: VotesOut; step: VoteStep }) {
  return (
    <table class="votes-table votes-candidates">
      <caption class="small muted">{t("translate.votes_candidates", { token: step.text.trim() || "␣" })}</caption>
      <thead>
        <tr>
          <th scope="col">{t("translate.column_token")}</th>
          <th scope="col">{t("translate.votes_together")}</th>
          {votes.members.map((member) => (
            <th key={member.name} scope="col">
              <bdi>{member.name}</bdi>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {step.candidates.map((one: VotedToken) => (
          <tr key={one.id} class={one.id === step.id ? "on" : undefined}>
            <th scope="row">
              <bdi>{one.text.trim() || "␣"}</bdi>
            </th>
            <Share p={one.p} />
            {one.members.map((p, n) => (
              <Share key={n} p={p} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A probability as a number on a bar. */
const Share = ({ p }: { p: number }) => (
  <td class="num votes-share">
    <i aria-hidden="true" style={{ width: `${Math.round(p * 100)}%` }} />
    <span>{percent(p)}</span>
  </td>
);
