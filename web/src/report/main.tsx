/** Where a comparison's report starts: one file with the JSON inside, drawn with the page's own charts, without a server. */
import type { ComponentChildren } from "preact";
import { render } from "preact";
import { Figure } from "../components/Figure";
import { LineFigure } from "../components/LineChart";
import { RowChart } from "../components/RowChart";
import { Toasts } from "../components/toasts";
import { Table } from "../components/Table";
import { download } from "../export";
import { loadWords, locale } from "../i18n";
import * as of from "../lib/report";
import type { Entry, Report } from "../lib/report";
import { type Part, wordDiff } from "../lib/words";
import { type Fact, type Lines, type Rows, type SectionData, sectionsOf } from "./sections";
import "../styles/base.css";
import "../styles/report.css";

const AT_ONCE = 8;

function Section({ id, title, lead, children }: { id: string; title: string; lead?: string; children: ComponentChildren }) {
  return (
    <section id={id}>
      <h2>{title}</h2>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </section>
  );
}

/** Figures next to each other where there is room, and the section's tables below them. */
function Drawn({ section: { figures = [], tables = [], cards = [], ...head } }: { section: SectionData }) {
  const drawn = figures.filter((figure) => figure !== null);
  const small = drawn.length > 0 && drawn.every((figure) => "bars" in figure && figure.bars === true);
  return (
    <Section {...head}>
      {drawn.length > 0 && <div class={small ? "figures small" : drawn.length > 1 ? "figures" : undefined}>{drawn.map(picture)}</div>}
      {cards.map((facts, i) => (
        <Facts key={i} facts={facts} />
      ))}
      {tables.map(({ title, data, folded }) =>
        folded ? (
          <Folded key={title} title={title}>
            <Table data={data} label={title} />
          </Folded>
        ) : (
          <div key={title} class="card">
            <Table data={data} label={title} caption={title} />
          </div>
        ),
      )}
    </Section>
  );
}

function picture(figure: Lines | Rows) {
  const { table, ...rest } = figure;
  if ("lines" in rest) return <LineFigure key={rest.id} {...rest} table={table && (() => table)} />;
  const { id, title, caption, ...rows } = rest as Rows;
  return (
    <Figure key={id} id={id} title={title} caption={caption} table={() => table!}>
      <RowChart name={title} {...rows} />
    </Figure>
  );
}

const Folded = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <details>
    <summary>{title}</summary>
    {children}
  </details>
);

/** Entries that did not finish, and why: said before any figure. */
function Failures({ entries }: { entries: readonly Entry[] }) {
  const failed = entries.filter((entry) => entry.status !== "completed");
  if (failed.length === 0) return null;
  return (
    <aside class="banner">
      <p>{`${failed.length} of ${entries.length} models did not finish`}</p>
      <ul>
        {failed.map(({ name, status, error }) => (
          <li key={name}>
            <b>{name}</b> {status}
            {error && ` — ${[error.where, error.message].filter(Boolean).join(": ")}`}
            {error?.hint && <span class="muted"> ({error.hint})</span>}
          </li>
        ))}
      </ul>
    </aside>
  );
}

function Summary({ sentences: summary }: { sentences: readonly string[] }) {
  const first = summary.length <= AT_ONCE + 2 ? summary.length : AT_ONCE;
  const list = (sentences: readonly string[]) => (
    <ul class="summary">
      {sentences.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
  return (
    <Section id="summary" title="In short">
      {list(summary.slice(0, first))}
      {summary.length > first && <Folded title={`${summary.length - first} more`}>{list(summary.slice(first))}</Folded>}
    </Section>
  );
}

/** Names and what they stand for; an answer is marked where it differs from its reference. */
function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="card facts-wide">
      {facts.map(({ name, text, colour, reference, lang }) => (
        <>
          <dt class={colour ? `c${colour}` : undefined}>{name}</dt>
          <dd dir="auto" lang={lang}>
            {reference === undefined ? text : wordDiff(text, reference).map(marked)}
            {reference === text && <span class="ok"> ✓</span>}
          </dd>
        </>
      ))}
    </dl>
  );
}

const marked = ({ kind, text }: Part) =>
  kind === "same" ? text : kind === "added" ? <mark>{text}</mark> : <del title={`left out: ${text}`}>‸</del>;

function Page({ report, json }: { report: Report; json: string }) {
  const drawn = sectionsOf(report);
  const save = (event: Event) => {
    event.preventDefault();
    download("report.json", "application/json", json);
  };
  return (
    <>
      <header>
        <p class="brand">
          jumok
          <i />
        </p>
        <h1>{report.title}</h1>
        <p>{of.lead(report)}</p>
      </header>
      <nav aria-label="Sections">
        <ol>
          {[{ id: "summary", title: "In short" }, ...drawn].map(({ id, title }) => (
            <li key={id}>
              <a href={`#${id}`}>{title}</a>
            </li>
          ))}
        </ol>
      </nav>
      <main>
        <Failures entries={report.entries} />
        <Summary sentences={report.summary} />
        {drawn.map((section) => (
          <Drawn key={section.id} section={section} />
        ))}
      </main>
      <footer>
        {`Made by jumok ${report.version} with jumok compare. Every number on this page is in its JSON: `}
        <a id="save" href="report.json" onClick={save}>
          save report.json
        </a>
      </footer>
      <Toasts />
    </>
  );
}

const json = document.getElementById("jumok-report")!.textContent ?? "";
locale.value = "en"; // the report is in English, and so are its tools
void loadWords("en").then(() => {
  render(<Page report={JSON.parse(json) as Report} json={json} />, document.getElementById("app")!);
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
});
