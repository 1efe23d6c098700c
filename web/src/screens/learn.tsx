/** The Learn screen: eight short chapters, each with views of the real screens to try. */
import { createElement, type ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { getJson } from "../api";
import { IconButton } from "../components/controls";
import { Icon } from "../components/Icon";
import { Await } from "../components/states";
import { embedded } from "../embedded";
import { useResource } from "../hooks";
import { locale, t, type Locale } from "../i18n";
import { FORMULAS, lessonOf, tryAddress, TRIES, type Formula } from "../lib/lessons";
import { formatAddress } from "../lib/link";
import { follow, model, models, ops, params, route, screen, setParams, whatIfOpen } from "../state";
import "../styles/learn.css";

interface Chapter {
  readonly title: string;
  readonly text: readonly string[];
  /** the formula in words */
  readonly says: string;
  readonly tries: readonly { readonly label: string; readonly look: string }[];
}
type Book = Readonly<Record<Locale, readonly Chapter[]>>;

/** The texts are data beside the page, so that only readers of Learn load them. */
const useBook = (on = true) => useResource(on ? "learn" : null, (signal) => getJson<Book>("/learn.json", signal), { cache: true });
const chapterHref = (n: number) => formatAddress({ screen: "learn", rest: String(n + 1), params: {} });

export function Learn() {
  const book = useBook();
  const at = Math.max(0, Math.min(FORMULAS.length - 1, (Number(route.value.rest) || 1) - 1));
  useEffect(() => scrollTo(0, 0), [at]);
  return (
    <div class="screen learn">
      <Await of={book} height={480}>
        {(found) => (
          <div class="learn-body">
            <nav aria-label={t("learn.chapters")}>
              <h1>{t("learn.title")}</h1>
              <ol>
                {found[locale.value].map((chapter, i) => (
                  <li key={i}>
                    <a href={chapterHref(i)} onClick={follow} aria-current={i === at ? "page" : undefined}>
                      <span class="num">{i + 1}</span>
                      {chapter.title}
                    </a>
                  </li>
                ))}
              </ol>
            </nav>
            <Page chapter={found[locale.value][at]} at={at} next={found[locale.value][at + 1]} />
          </div>
        )}
      </Await>
    </div>
  );
}

function Page({ chapter, at, next }: { chapter: Chapter; at: number; next: Chapter | undefined }) {
  return (
    <article>
      <p class="small muted">{t("learn.chapter", { n: at + 1 })}</p>
      <h2>{chapter.title}</h2>
      {chapter.text.map((text, i) => <p key={i}>{styled(text)}</p>)}
      <div class="learn-formula">
        {FORMULAS[at].map((formula, i) => (
          <math key={i} display="block" aria-label={i === 0 ? chapter.says : undefined} aria-hidden={i > 0}>
            {drawn(formula)}
          </math>
        ))}
        <p class="note">{chapter.says}</p>
      </div>
      <section class="learn-tries" aria-label={t("learn.try")}>
        <h3>{t("learn.try")}</h3>
        {chapter.tries.map((entry, n) => <TryCard key={`${at}.${n}`} label={entry.label} look={entry.look} at={at} n={n} />)}
      </section>
      {next && (
        <a class="learn-next" href={chapterHref(at + 1)} onClick={follow}>
          {t("learn.next")} <b>{next.title}</b>
          <Icon name="next" size={16} />
        </a>
      )}
    </article>
  );
}

function TryCard({ label, look, at, n }: { label: string; look: string; at: number; n: number }) {
  const found = models.value && tryAddress(at, n, models.value);
  const inside = (
    <>
      <b>{label}</b>
      <span>{look}</span>
      <small>{found || models.value === null ? t(`shell.screen_${TRIES[at][n].screen}`) : t("learn.no_model", { arch: missing(at, n) })}</small>
    </>
  );
  return found ? <a class="learn-try" href={found.address} onClick={follow}>{inside}<Icon name="next" size={18} /></a> : <div class="learn-try off">{inside}</div>;
}

function missing(at: number, n: number): string {
  const [first] = TRIES[at][n].arch;
  return first ? t(`shell.arch_${first}`) : t("learn.two_models");
}

/** *word* is set apart: a term that is explained where it stands. */
const styled = (text: string): ComponentChildren => text.split("*").map((part, i) => (i % 2 ? <b key={i}>{part}</b> : part));

function drawn(formula: Formula): ComponentChildren {
  if (typeof formula !== "string") return createElement(formula[0] as string, null, ...formula.slice(1).map(drawn));
  if (/^\d+$/.test(formula)) return <mn>{formula}</mn>;
  return /^[\p{L}\d]/u.test(formula) ? <mi>{formula}</mi> : <mo>{formula}</mo>;
}

/** What to look at on a screen that a chapter has opened. */
export function LessonNote() {
  const lesson = screen.value === "learn" || embedded ? null : lessonOf(params.value.le);
  const book = useBook(lesson !== null).value;
  useEffect(() => {
    if (lesson && ops.value.length > 0 && innerWidth > 1100) whatIfOpen.value = true;
  }, [params.value.le]);
  const chapter = lesson && book?.[locale.value][lesson.chapter];
  const opened = chapter && chapter.tries[lesson.n];
  if (!opened || !model.value) return null;
  return (
    <aside class="lesson" aria-label={t("learn.title")}>
      <Icon name="learn" size={18} />
      <p>
        <b>{opened.label}.</b> {opened.look}
      </p>
      <a href={chapterHref(lesson.chapter)} onClick={follow}>{t("learn.back", { n: lesson.chapter + 1 })}</a>
      <IconButton icon="close" label={t("shell.close")} onClick={() => setParams({ le: null })} />
    </aside>
  );
}
