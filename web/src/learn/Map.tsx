/** The map of the book: notes, their chapters, where the reader is and what is done. */
import { useEffect } from "preact/hooks";
import { Icon } from "../components/Icon";
import { Link } from "../components/Link";
import { Button } from "../components/controls";
import { locale, t } from "../i18n";
import { chapterHref, nextOf, type Book } from "../lib/lessons";
import { params } from "../state";
import { forget, progress } from "./progress";
import { wordsOf } from "./say";
import { frame } from "./words/frame";

const say = wordsOf(frame);
const NOTES = ["000", "001", "002", "003", "004"] as const;

/** All chapters by note; `at` is the one on show. */
export function ChapterList({ book, at }: { book: Book; at?: string }) {
  const numbered = book.chapters.map((chapter, i) => ({ ...chapter, n: i + 1 }));
  return (
    <ol class="learn-notes">
      {NOTES.map((note) => {
        const chapters = numbered.filter((chapter) => chapter.note === note);
        return (
          chapters.length > 0 && (
            <li key={note}>
              <p class="learn-note">
                <span class="faint">{say("note", { n: note })}</span> {say(`note_${note}`)}
              </p>
              <ol>
                {chapters.map((chapter) => {
                  const state = progress.value[chapter.id];
                  return (
                    <li key={chapter.id} class={state}>
                      <Link href={chapterHref(chapter.id, params.value.m)} aria-current={chapter.id === at ? "page" : undefined}>
                        <span class="num">{state === "done" ? <Icon name="check" size={14} /> : chapter.n}</span>
                        <span>
                          {chapter[locale.value].title}
                          {state && <span class="sr">, {say(state)}</span>}
                        </span>
                      </Link>
                    </li>
                  );
                })}
              </ol>
            </li>
          )
        );
      })}
    </ol>
  );
}

/** How many chapters are done, in words and as a bar. */
export function Done({ book }: { book: Book }) {
  const all = book.chapters.length;
  const n = book.chapters.filter(({ id }) => progress.value[id] === "done").length;
  return (
    <div class="learn-done">
      <progress max={all} value={n} aria-label={say("done_of", { n, all })} />
      <p class="small muted">{say("done_of", { n, all })}</p>
    </div>
  );
}

/** The map as a page of its own, where the book opens. */
export function MapPage({ book, unknown }: { book: Book; unknown: string }) {
  const next = nextOf(book, progress.value);
  const begun = Object.keys(progress.value).length > 0;
  useEffect(() => {
    document.title = `${t("learn.title")} · jumok`;
  }, [locale.value]);
  return (
    <div class="learn-map">
      <header>
        <h1 tabIndex={-1}>{t("learn.title")}</h1>
        {unknown && (
          <p class="banner" role="alert">
            {say("unknown", { id: unknown })}
          </p>
        )}
        <p>{say("about")}</p>
        <Done book={book} />
        <div class="row">
          {next ? (
            <Link class="btn primary" href={chapterHref(next.id, params.value.m)}>
              {begun ? `${say("go_on")}: ${next[locale.value].title}` : say("start")}
            </Link>
          ) : (
            <p>{say("all_done")}</p>
          )}
          {begun && (
            <Button kind="quiet" onClick={forget}>
              {say("forget")}
            </Button>
          )}
        </div>
      </header>
      <nav aria-label={say("map")}>
        <ChapterList book={book} />
      </nav>
    </div>
  );
}
