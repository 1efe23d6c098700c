/** What a model with one vector writes when sentences grow, beside a model with attention. */
import { useEffect } from "preact/hooks";
import { postTrace } from "../../api";
import type { Arch, Card, Manifest } from "../../api-types";
import { Figure } from "../../components/Figure";
import { Await } from "../../components/states";
import { useResource } from "../../hooks";
import { t } from "../../i18n";
import { models } from "../../state";
import { Marked } from "../parts";
import { firstWrong } from "../reckoning";
import { Reveal } from "../Reveal";
import { wordsOf } from "../say";
import { growing } from "../words/growing";
import type { FigureProps } from ".";
import "./growing.css";

export const arch: readonly Arch[] = ["rnn"];
const say = wordsOf(growing);

interface Case {
  readonly text: string;
  /** the right answer, where it is known */
  readonly right?: string;
}
/** One date that grows, for models that read dates; others read their own examples. */
const DATES: readonly Case[] = [
  { text: "1998년 3월 24일", right: "1998-03-24" },
  { text: "1998년 3월 24일 화요일", right: "1998-03-24" },
  { text: "1998년 3월 24일 화요일 오후 8시 35분", right: "1998-03-24T20:35" },
  { text: "1998년 3월 24일 화요일 오후 8시 35분부터 1998년 11월 9일 월요일 오전 7시 12분까지", right: "1998-03-24T20:35/1998-11-09T07:12" },
];

export const casesFor = (card: Card): readonly Case[] =>
  card.target_language.startsWith("iso")
    ? DATES
    : [...card.examples]
        .sort((a, b) => a.length - b.length)
        .slice(0, 5)
        .map((text) => ({ text }));

interface Answered extends Case {
  readonly mine: Manifest;
  readonly theirs: Manifest | null;
}

export default function Growing({ card, tell }: FigureProps) {
  const same = (other: Card) => other.source === "text" && other.target_language === card.target_language;
  const other =
    models.value?.find((one) => one.arch === "luong" && same(one)) ?? models.value?.find((one) => one.arch !== "rnn" && same(one));
  const cases = casesFor(card);
  const answers = useResource<Answered[]>(
    `growing ${card.fingerprint} ${other?.fingerprint}`,
    (signal) =>
      Promise.all(
        cases.map(async (one) => ({
          ...one,
          mine: await postTrace({ model: card.name, text: one.text }, signal),
          theirs: other ? await postTrace({ model: other.name, text: one.text }, signal) : null,
        })),
      ),
    { cache: true },
  );
  return (
    <Await of={answers} height={360}>
      {(all) => <Table all={all} card={card} other={other} tell={tell} />}
    </Await>
  );
}

function Table({ all, card, other, tell }: { all: readonly Answered[]; card: Card; other?: Card } & Pick<FigureProps, "tell">) {
  const known = all.every((one) => one.right !== undefined);
  const found = firstWrong(all.map((one) => ({ right: one.right, mine: one.mine.target.text, theirs: one.theirs?.target.text ?? null })));
  const lengths = all.map((one) => one.mine.source.tokens.length);
  useEffect(() => tell({ longest: Math.max(...lengths), wrong_from: found < 0 ? 0 : lengths[found] }), [all]);
  const options = [...new Set(lengths.slice(1))].map((n) => say("from", { n })).concat(say("never"));
  const right = found < 0 ? options.length - 1 : Math.max(0, options.indexOf(say("from", { n: lengths[found] })));
  const name = (one: Card) => t(`shell.arch_${one.arch}`);
  return (
    <Figure
      title={say("title")}
      words
      table={() => ({
        head: [say("source"), say("tokens"), name(card), other ? name(other) : "", say("right")],
        rows: all.map((one, i) => [one.text, lengths[i], one.mine.target.text, one.theirs?.target.text ?? "", one.right ?? ""]),
      })}
    >
      <Reveal ask={say(known ? "ask" : "differ")} options={options} right={right} why={say(known ? "why" : "why_differ")}>
        <ol class="growing">
          {all.map((one, i) => {
            const against = one.right ?? one.theirs?.target.text ?? one.mine.target.text;
            return (
              <li key={one.text}>
                <p>
                  <span class="badge">{say("from", { n: lengths[i] })}</span> <bdi lang={one.mine.source.lang}>{one.text}</bdi>
                </p>
                <dl class="facts">
                  <dt>{name(card)}</dt>
                  <dd>
                    <Marked text={one.mine.target.text} against={against} lang={one.mine.target.lang} />
                  </dd>
                  {one.theirs && (
                    <>
                      <dt>{name(other!)}</dt>
                      <dd>
                        <Marked text={one.theirs.target.text} against={one.right ?? one.mine.target.text} lang={one.theirs.target.lang} />
                      </dd>
                    </>
                  )}
                </dl>
              </li>
            );
          })}
        </ol>
        {!other && <p class="note">{say("alone")}</p>}
      </Reveal>
    </Figure>
  );
}
