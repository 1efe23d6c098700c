/** The Learn screen: eight short chapters, each with views of the real screens to try. */
import { createElement, type ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Icon } from "../components/Icon";
import { chapterHref, useBook } from "../components/LessonNote";
import { Await } from "../components/states";
import { locale, t } from "../i18n";
import { viewAddress, type Book, type Formula } from "../lib/lessons";
import { models, route } from "../state";
import { Link } from "../components/Link";
import "../styles/learn.css";

export function Learn() {
  const book = useBook();
  const asked = (Number(route.value.rest) || 1) - 1;
  useEffect(() => scrollTo(0, 0), [asked]);
  return (
    <div class="screen learn">
      <Await of={book} height={480}>
        {(found) => {
          const at = found.chapters[asked] ? asked : 0;
          return (
            <div class="learn-body">
              <nav aria-label={t("learn.chapters")}>
                <h1>{t("learn.title")}</h1>
                <ol>
                  {found[locale.value].map((chapter, i) => (
                    <li key={i}>
                      <Link href={chapterHref(i)} aria-current={i === at ? "page" : undefined}>
                        <span class="num">{i + 1}</span> {chapter.title}
                      </Link>
                    </li>
                  ))}
                </ol>
              </nav>
              <Page key={at} book={found} at={at} />
            </div>
          );
        }}
      </Await>
    </div>
  );
}

function Page({ book, at }: { book: Book; at: number }) {
  const chapters = book[locale.value];
  const { title, text, says, tries } = chapters[at];
  const next = chapters[at + 1];
  return (
    <article>
      <p class="small muted">{t("learn.chapter", { n: at + 1, all: chapters.length })}</p>
      <h2>{title}</h2>
      {text.map((part, i) => (
        <p key={i}>{styled(part)}</p>
      ))}
      <div class="learn-formula">
        {book.chapters[at].formulas.map((formula, i) => (
          <math key={i} display="block">
            {drawn(formula)}
          </math>
        ))}
        <p class="note">{says}</p>
      </div>
      <section class="learn-tries" aria-label={t("learn.try")}>
        <h3 class="muted">{t("learn.try")}</h3>
        {tries.map((entry, n) => (
          <TryCard key={n} {...entry} book={book} at={at} n={n} />
        ))}
      </section>
      {next && (
        <Link class="learn-next" href={chapterHref(at + 1)}>
          {t("learn.next")} <b>{next.title}</b>
          <Icon name="next" size={16} />
        </Link>
      )}
    </article>
  );
}

function TryCard({ label, look, book, at, n }: { label: string; look: string; book: Book; at: number; n: number }) {
  const { arch, screen: to } = book.chapters[at].views[n];
  const address = models.value && viewAddress(book, at, n, models.value);
  const needs = models.value && !address;
  const inside = (
    <>
      <b>{label}</b>
      <span>{look}</span>
      <small>
        {needs ? t("learn.no_model", { arch: arch[0] ? t(`shell.arch_${arch[0]}`) : t("learn.two_models") }) : t(`shell.screen_${to}`)}
      </small>
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

/** *word* is set apart: a term that is explained where it stands. */
const styled = (text: string): ComponentChildren => text.split("*").map((part, i) => (i % 2 ? <b key={i}>{part}</b> : part));

function drawn(formula: Formula): ComponentChildren {
  if (typeof formula !== "string") return createElement(formula[0] as string, null, ...formula.slice(1).map(drawn));
  if (/^\d+$/.test(formula)) return <mn>{formula}</mn>;
  if (/^\p{L}/u.test(formula)) return <mi>{formula}</mi>;
  return /^[|<]$/.test(formula) ? (
    <mo lspace="0" rspace="0">
      {formula}
    </mo>
  ) : (
    <mo>{formula}</mo>
  );
}
