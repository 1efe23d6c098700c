/** Segments side by side. Only what is near the window is drawn and asked for: a document may have many thousands. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { getSegments } from "../../api";
import type { DocumentOut, SegmentOut } from "../../api-types";
import { Empty, problemText } from "../../components/states";
import { toast } from "../../components/toasts";
import { problemOf } from "../../errors";
import { locale, t } from "../../i18n";
import { languageName } from "../../lib/languages";
import { model, models } from "../../state";
import { Row } from "./Row";

const CHUNK = 50;
const ROW_PX = 58;
const NEAR = "700px";

interface RowsProps {
  now: DocumentOut;
  doubtful: boolean;
  update(change: Partial<DocumentOut["counts"]>): void;
}

export function Rows({ now, doubtful, update }: RowsProps) {
  const total = doubtful ? now.counts.doubtful : (now.total ?? 0);
  if (total === 0)
    return (
      <div class="card">
        <Empty title={t(doubtful ? "documents.none_doubtful" : "documents.no_segments")} />
      </div>
    );
  const card = models.value?.find((one) => one.name === now.model) ?? model.value;
  const chunks = Array.from({ length: Math.ceil(total / CHUNK) }, (_, n) => n);
  return (
    <section class="card documents-rows" aria-label={t("documents.segments")}>
      <div class="documents-row documents-heads" aria-hidden="true">
        <span />
        <Head text={t("documents.source")} code={card?.source_language} />
        <Head text={t("documents.target")} code={card?.target_language} />
      </div>
      <div role="list">
        {chunks.map((n) => (
          <Chunk key={n} now={now} doubtful={doubtful} first={n * CHUNK} count={Math.min(CHUNK, total - n * CHUNK)} update={update} />
        ))}
      </div>
    </section>
  );
}

/** A side of the table and the language on it. */
const Head = ({ text, code }: { text: string; code: string | undefined }) => (
  <span>
    {text}
    {code && <span class="faint"> · {languageName(code, locale.value, t("shell.many_languages"))}</span>}
  </span>
);

type ChunkProps = RowsProps & { first: number; count: number };

/** Some rows. Away from the window it is a space as high as they are. */
function Chunk({ now, doubtful, first, count, update }: ChunkProps) {
  const box = useRef<HTMLDivElement>(null);
  const height = useRef(count * ROW_PX);
  const near = useNear(box);
  const [rows, setRows] = useState<readonly SegmentOut[]>([]);
  const settled = rows.length === count && rows.every((row) => row.outcome !== null);
  // a row of this chunk may have had its turn since: of all segments those before `done` have
  const reached = doubtful ? count : Math.max(0, Math.min(count, now.done - first));
  const ended = now.status === "done" || now.status === "failed";
  useEffect(() => {
    if (!near || settled) return;
    const control = new AbortController();
    getSegments(now.id, first, count, doubtful, control.signal).then(
      (page) => setRows(page.segments),
      (error: unknown) => {
        if (!control.signal.aborted && problemOf(error).status !== 404) toast(problemText(problemOf(error)));
      },
    );
    return () => control.abort();
  }, [near, reached, count, ended]);
  useLayoutEffect(() => {
    if (near && rows.length > 0 && box.current) height.current = box.current.offsetHeight;
  });
  if (!near || rows.length === 0)
    return <div ref={box} role="presentation" aria-busy={near && rows.length === 0} style={{ height: `${height.current}px` }} />;
  const put = (row: SegmentOut, before: SegmentOut) => {
    setRows((old) => old.map((one) => (one.n === row.n ? row : one)));
    if (!before.edited) update({ edited: now.counts.edited + 1 });
  };
  return (
    <div ref={box} role="presentation">
      {rows.map((row) => (
        <Row key={row.n} id={now.id} model={now.model} row={row} count={now.total ?? 0} onEdit={(next) => put(next, row)} />
      ))}
    </div>
  );
}

/** Whether an element is in the window or near it. */
function useNear(box: { readonly current: HTMLDivElement | null }): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => setNear(entries[entries.length - 1].isIntersecting), { rootMargin: NEAR });
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, [box.current]);
  return near;
}
