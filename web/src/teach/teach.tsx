/** A class: the card with the question of a step, and the panel in which a teacher makes the link. */
import { signal } from "@preact/signals";
import { copyText } from "../components/Commands";
import { Button, IconButton } from "../components/controls";
import { Link } from "../components/Link";
import { toast } from "../components/toasts";
import { t } from "../i18n";
import { formatAddress, parseAddress } from "../lib/link";
import { decodePath, encodePath, MOST_STOPS, stepAddress, stepOf, stopAt, type Path, type Stop } from "../lib/teach";
import { hashed } from "../local/site";
import { href, params, permalink, screen, teachOpen } from "../state";
import { remember, remembered } from "../storage";
import "./teach.css";

const linkTo = (path: Path, step: number, word: string) => (hashed ? "#" : "") + formatAddress(stepAddress(path, step, word));

/** Where the class stands: the question, an answer to open, and the way back and on. */
export function Card() {
  const word = params.value.teach ?? "";
  const path = decodePath(word);
  if (!path) return <p class="note">{t("teach.bad")}</p>;
  const at = stepOf(params.value.step, path);
  const { question, answer } = path.stops[at];
  return (
    <section class="teach-card" aria-label={path.title || t("teach.title")} key={at}>
      <div>
        <p class="small muted">
          {path.title && `${path.title} · `}
          {t("teach.step", { n: at + 1, all: path.stops.length })}
        </p>
        {question && (
          <p class="question" dir="auto">
            {question}
          </p>
        )}
      </div>
      <div class="row">
        {at > 0 && (
          <Link class="btn" href={linkTo(path, at - 1, word)}>
            {t("teach.back")}
          </Link>
        )}
        {at < path.stops.length - 1 ? (
          <Link class="btn primary" href={linkTo(path, at + 1, word)}>
            {t("teach.next")}
          </Link>
        ) : (
          <Link class="btn" href={href(screen.value, { teach: null, step: null })}>
            {t("teach.free")}
          </Link>
        )}
      </div>
      {answer && (
        <details>
          <summary>{t("teach.reveal")}</summary>
          <p dir="auto">{answer}</p>
        </details>
      )}
    </section>
  );
}

/** The path that is being made, kept by the browser: a teacher goes from screen to screen while making it. */
const draft = signal<Path>(decodePath(remembered("class") ?? undefined) ?? { title: "", stops: [] });

function change(next: Path): void {
  draft.value = next;
  remember("class", next.stops.length > 0 ? encodePath(next) : "");
}

/** The view on show, with all that it takes for granted. */
function here(): string {
  const { pathname, search, hash } = new URL(permalink());
  const [path, query = ""] = hashed ? hash.slice(1).split("?") : [pathname, search];
  return stopAt(parseAddress(path, query));
}

export function Panel() {
  const path = draft.value;
  const word = encodePath(path);
  const edit = (n: number, patch: Partial<Stop>) =>
    change({ ...path, stops: path.stops.map((stop, i) => (i === n ? { ...stop, ...patch } : stop)) });
  const add = () => change({ ...path, stops: [...path.stops, { at: here(), question: "", answer: "" }] });
  const up = (n: number) => {
    const stops = [...path.stops];
    stops.splice(n - 1, 0, ...stops.splice(n, 1));
    change({ ...path, stops });
  };
  const copy = async () => {
    await copyText(new URL(linkTo(path, 0, word), location.href).href);
    toast(t("figure.link_copied"));
  };
  return (
    <aside class="teach-panel" aria-label={t("teach.title")}>
      <div class="row between">
        <h2>{t("teach.title")}</h2>
        <IconButton icon="close" label={t("shell.close")} onClick={() => (teachOpen.value = false)} />
      </div>
      <p class="note">{t("teach.about")}</p>
      <input
        class="input"
        maxLength={200}
        aria-label={t("teach.name")}
        placeholder={t("teach.name")}
        value={path.title}
        onInput={(event) => change({ ...path, title: event.currentTarget.value })}
      />
      {path.stops.length === 0 && <p class="small muted">{t("teach.none")}</p>}
      <ol>
        {path.stops.map((stop, n) => (
          <li key={`${n} ${stop.at}`}>
            <Link
              class="clip"
              href={(hashed ? "#" : "") + stop.at}
            >{`${n + 1}. ${t(`shell.screen_${parseAddress(stop.at.split("?")[0], "").screen}`)}`}</Link>
            <span class="row">
              {n > 0 && <IconButton icon="prev" label={t("teach.up")} onClick={() => up(n)} />}
              <IconButton
                icon="close"
                label={t("teach.remove")}
                onClick={() => change({ ...path, stops: path.stops.filter((_, i) => i !== n) })}
              />
            </span>
            <input
              class="input"
              maxLength={600}
              aria-label={t("teach.question")}
              placeholder={t("teach.question")}
              value={stop.question}
              onInput={(event) => edit(n, { question: event.currentTarget.value })}
            />
            <input
              class="input"
              maxLength={600}
              aria-label={t("teach.answer")}
              placeholder={t("teach.answer")}
              value={stop.answer}
              onInput={(event) => edit(n, { answer: event.currentTarget.value })}
            />
          </li>
        ))}
      </ol>
      <div class="row">
        <Button kind="primary" disabled={path.stops.length >= MOST_STOPS} onClick={add}>
          {t("teach.add")}
        </Button>
        {path.stops.length > 0 && <Button onClick={() => void copy()}>{t("teach.copy")}</Button>}
        {path.stops.length > 0 && (
          <Link class="btn quiet" href={linkTo(path, 0, word)}>
            {t("teach.start")}
          </Link>
        )}
      </div>
      <p class="note">{t("teach.static")}</p>
    </aside>
  );
}
