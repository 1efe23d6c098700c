/** Learn: a book of short chapters, each with a live figure beside its paragraphs, one thing to do and one question. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../components/Icon";
import { Link } from "../components/Link";
import { useBook } from "../components/LessonNote";
import { Await } from "../components/states";
import { locale, t } from "../i18n";
import { chapterHref, spreads, viewAddress, type Block, type Book, type Chapter, type Facts, type Formula } from "../lib/lessons";
import { models, params, route } from "../state";
import { figure } from "./figures";
import { ChapterList, Done, MapPage } from "./Map";
import { Formulas, Prose } from "./Prose";
import { Question } from "./Question";
import { advance } from "./progress";
import { wordsOf } from "./say";
import { archNames, Slot } from "./Slot";
import { frame } from "./words/frame";
import "./learn.css";

const say = wordsOf(frame);

export function Learn() {
  const book = useBook();
  const asked = route.value.rest;
  const first = useRef(true);
  useEffect(() => {
    scrollTo(0, 0);
    // who turned the page by keyboard or by ear goes on at its title
    if (!first.current) document.querySelector<HTMLElement>(".learn h1")?.focus({ preventScroll: true });
    first.current = false;
  }, [asked]);
  return (
    <div class="screen learn">
      <Await of={book} height={480}>
        {(found) => {
          const chapter = found.chapters.find(({ id }) => id === asked);
          if (!chapter) return <MapPage book={found} unknown={asked} />;
          return (
            <div class="learn-body">
              <nav class="learn-side" aria-label={say("map")}>
                <Link class="learn-home" href={chapterHref("", params.value.m)}>
                  {t("learn.title")}
                </Link>
                <Done book={found} />
                <ChapterList book={found} at={chapter.id} />
              </nav>
              <Page key={chapter.id} book={found} chapter={chapter} />
            </div>
          );
        }}
      </Await>
    </div>
  );
}

function Page({ book, chapter }: { book: Book; chapter: Chapter }) {
  const { title, blocks, tries, question } = chapter[locale.value];
  const [facts, setFacts] = useState<Facts>({});
  const [cannot, setCannot] = useState(false);
  const tell = (more: Facts) =>
    setFacts((old) => (Object.entries(more).every(([name, value]) => old[name] === value) ? old : { ...old, ...more }));
  useEffect(() => advance(chapter.id, "seen"), []);
  useEffect(() => {
    document.title = `${title} · jumok`;
  }, [title]);
  const at = book.chapters.indexOf(chapter);
  useEffect(() => {
    // the next page's figures come while this one is read
    const bring = () => book.chapters[at + 1]?.figures.forEach((name) => void figure(name).catch(() => undefined));
    const timer = setTimeout(bring, 1500);
    return () => clearTimeout(timer);
  }, []);
  const groups = spreads(blocks);
  return (
    <article>
      <header>
        <p class="small muted">
          <Link class="learn-up" href={chapterHref("", params.value.m)}>
            {say("map")}
          </Link>
          {say("chapter", { n: at + 1, all: book.chapters.length })} · {say("note", { n: chapter.note })}
        </p>
        <h1 tabIndex={-1}>{title}</h1>
      </header>
      {groups.map((group, i) => (
        <Spread key={i} of={group} {...{ book, chapter, tell }} cannot={() => setCannot(true)}>
          {i === groups.length - 1 && <Question of={question} facts={facts} cannot={cannot} onRight={() => advance(chapter.id, "done")} />}
        </Spread>
      ))}
      {tries.length > 0 && (
        <section class="learn-tries" aria-label={say("try")}>
          <h2>{say("try")}</h2>
          <div>
            {tries.map((entry, n) => (
              <TryCard key={n} {...entry} book={book} chapter={chapter} n={n} />
            ))}
          </div>
        </section>
      )}
      <nav class="learn-turn" aria-label={t("learn.title")}>
        <Turn to={book.chapters[at - 1]} way="previous" />
        <Turn to={book.chapters[at + 1]} way="next" />
      </nav>
    </article>
  );
}

interface SpreadProps {
  of: readonly Block[];
  book: Book;
  chapter: Chapter;
  tell(facts: Facts): void;
  cannot(): void;
  children: ComponentChildren;
}

/** Paragraphs on one side; their figure, with the formula it draws, on the other. On a phone it comes right after its own paragraph. */
function Spread({ of, book, chapter, tell, cannot, children }: SpreadProps) {
  const shown = of.find((block) => block.figure);
  const formulasOf = ({ formula }: Block): readonly Formula[] =>
    formula === undefined ? [] : [formula].flat().map((n) => chapter.formulas[n as number]);
  const paragraph = (block: Block, i: number) => (
    <div class="learn-text" key={i}>
      <p>
        <Prose text={block.text} />
      </p>
      {block !== shown && block.formula !== undefined && <Formulas of={formulasOf(block)} says={block.says} />}
    </div>
  );
  const cut = shown ? of.indexOf(shown) + 1 : of.length;
  return (
    <section class={shown ? "learn-spread" : "learn-spread alone"} style={{ "--rows": of.length }}>
      {of.slice(0, cut).map(paragraph)}
      {shown && (
        <div class="learn-beside">
          {shown.formula !== undefined && <Formulas of={formulasOf(shown)} says={shown.says} />}
          <Slot name={shown.figure!} book={book} chapter={chapter} tell={tell} cannot={cannot} />
        </div>
      )}
      {of.slice(cut).map(paragraph)}
      {children}
    </section>
  );
}

const Turn = ({ to, way }: { to: Chapter | undefined; way: "next" | "previous" }) =>
  to ? (
    <Link class={way} href={chapterHref(to.id, params.value.m)} rel={way === "next" ? "next" : "prev"}>
      <small>{say(way)}</small>
      <b>{to[locale.value].title}</b>
    </Link>
  ) : (
    <span />
  );

function TryCard({ label, look, book, chapter, n }: { label: string; look: string; book: Book; chapter: Chapter; n: number }) {
  const { arch, screen: to } = chapter.views[n];
  const address = models.value && viewAddress(book, chapter, n, models.value);
  const needs = models.value && !address;
  const inside = (
    <>
      <b>{label}</b>
      <span>{look}</span>
      <small>{needs ? say("no_model", { arch: arch.length > 0 ? archNames(arch) : say("two_models") }) : t(`shell.screen_${to}`)}</small>
    </>
  );
  return address ? (
    <Link class="card learn-try" href={address}>
      {inside}
      <Icon name="next" size={18} />
    </Link>
  ) : (
    <div class="card learn-try">{inside}</div>
  );
}
