/** One document: how far it is, its segments side by side, and the file. */
import { useEffect, useState } from "preact/hooks";
import { deleteDocument, documentFile, epoch, followDocument, getDocument } from "../../api";
import type { DocumentOut } from "../../api-types";
import { Badge, Button, Segmented } from "../../components/controls";
import { Icon } from "../../components/Icon";
import { Failed, Loading, problemText } from "../../components/states";
import { toast } from "../../components/toasts";
import { problemOf, type ApiError } from "../../errors";
import { t } from "../../i18n";
import { params, setParams } from "../../state";
import { Meter, progressText } from "./Meter";
import { close, drop, keep } from "./ids";
import { Rows } from "./Rows";

const AGAIN_MS = 1500;

export function Job({ id }: { id: string }) {
  const { now, error, update } = useJob(id);
  if (error)
    return (
      <div class="screen documents">
        <Header name={t("documents.title")} />
        <div class="card">
          <Failed error={error} />
          <div class="row documents-after">
            <Button onClick={close}>{t("documents.another")}</Button>
          </div>
        </div>
      </div>
    );
  return now ? <Shown now={now} update={update} /> : <Loading height={320} />;
}

const Header = ({ name }: { name: string }) => (
  <header class="screen-head">
    <h1 class="documents-name">
      <bdi>{name}</bdi>
    </h1>
  </header>
);

function Shown({ now, update }: { now: DocumentOut; update(change: Partial<DocumentOut["counts"]>): void }) {
  const ended = now.status === "done" || now.status === "failed";
  const doubtful = params.value.only === "doubtful";
  const leave = async () => {
    drop([now.id]);
    close(); // first, so that nobody asks for it while it goes
    await deleteDocument(now.id).catch(() => undefined); // it may have gone by itself
    toast(t(ended ? "documents.removed" : "documents.cancelled"));
  };
  return (
    <div class="screen documents">
      <Header name={now.name} />
      <section class="card stack documents-state">
        <div class="row wide">
          <Badge tone={now.status === "failed" ? "bad" : undefined}>{t(`documents.status_${now.status}`)}</Badge>
          <span class="small muted" role="status">
            {progressText(now)}
          </span>
          <span class="small faint">{now.model}</span>
          <span class="row documents-acts">
            {now.status === "done" && (
              <a
                class="btn primary"
                href={documentFile(now.id)}
                download={now.target_name}
                title={t("documents.download_name", { name: now.target_name })}
              >
                <Icon name="download" size={16} />
                {t("documents.download")}
              </a>
            )}
            {ended && <Button onClick={close}>{t("documents.another")}</Button>}
            <Button kind="quiet" onClick={() => void leave()}>
              {t(ended ? "documents.remove" : "documents.cancel")}
            </Button>
          </span>
        </div>
        {!ended && <Meter of={now} />}
        {now.problem && <Broken problem={now.problem} />}
      </section>
      {(now.total ?? 0) > 0 && (
        <div class="row between">
          <Segmented
            label={t("documents.show")}
            value={doubtful ? "doubtful" : "all"}
            onChange={(only) => setParams({ only: only === "all" ? null : only }, { push: true })}
            choices={[
              { value: "all", label: t("documents.all") },
              {
                value: "doubtful",
                label: now.counts.doubtful > 0 ? t("documents.doubtful_n", { n: now.counts.doubtful }) : t("documents.doubtful"),
              },
            ]}
          />
          <span class="small faint wide-only">{t("documents.click")}</span>
        </div>
      )}
      {now.total !== null && <Rows key={String(doubtful)} now={now} doubtful={doubtful} update={update} />}
    </div>
  );
}

/** Why it failed, in the words of whoever reads the format. */
const Broken = ({ problem }: { problem: NonNullable<DocumentOut["problem"]> }) => (
  <div class="documents-error" role="alert">
    <strong>{t("documents.failed")}</strong>
    <p>{problem.detail}</p>
  </div>
);

/** A document as it stands, followed until it has ended; `update` counts what was mended here. */
function useJob(id: string) {
  const [now, setNow] = useState<DocumentOut | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const back = epoch.value;
  useEffect(() => {
    const control = new AbortController();
    void follow(id, control.signal, setNow, (problem) => {
      if (problem.code === "unknown_document") drop([id]);
      setError(problem);
    });
    return () => control.abort();
  }, [id, back]);
  const update = (change: Partial<DocumentOut["counts"]>) => setNow((old) => old && { ...old, counts: { ...old.counts, ...change } });
  return { now, error, update };
}

async function follow(id: string, signal: AbortSignal, show: (now: DocumentOut) => void, fail: (error: ApiError) => void): Promise<void> {
  let ended = false;
  const see = (now: DocumentOut) => {
    ended = now.status === "done" || now.status === "failed";
    show(now);
  };
  while (!signal.aborted && !ended) {
    try {
      see(await getDocument(id, signal));
      keep(id); // a link from elsewhere is one of mine from now on
      if (!ended) await followDocument(id, signal, see);
    } catch (error) {
      if (signal.aborted) return;
      const problem = problemOf(error);
      if (problem.status === 0) return; // the banner says so, and it begins again when the server is back
      if (problem.status !== 429) return fail(problem);
      toast(problemText(problem)); // no place for a stream: look again in a while
    }
    if (!ended) await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}
