/** The documents that this browser has sent and the server still holds. */
import { useEffect, useState } from "preact/hooks";
import { epoch, getDocuments } from "../../api";
import type { DocumentOut } from "../../api-types";
import { Badge } from "../../components/controls";
import { Link } from "../../components/Link";
import { t } from "../../i18n";
import { href } from "../../state";
import { drop, mine } from "./ids";
import { Meter, progressText } from "./Meter";

const LOOK_MS = 1500;

export function Mine() {
  const found = useMine();
  if (found.length === 0) return null;
  return (
    <section class="stack">
      <h2>{t("documents.yours")}</h2>
      <ul class="card documents-mine">
        {found.map((one) => (
          <li key={one.id}>
            <Link href={href("documents", {}, one.id)} class="clip">
              <bdi>{one.name}</bdi>
            </Link>
            <span class="small muted">{one.model}</span>
            <Badge tone={one.status === "failed" ? "bad" : undefined}>{t(`documents.status_${one.status}`)}</Badge>
            {one.status === "running" && <Meter of={one} />}
            <span class="small muted">{progressText(one)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How they stand, looked at again while one of them is under way. */
function useMine(): readonly DocumentOut[] {
  const [found, setFound] = useState<readonly DocumentOut[]>([]);
  const ids = mine.value;
  const back = epoch.value;
  useEffect(() => {
    if (ids.length === 0) return setFound([]);
    const control = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () =>
      getDocuments(ids, control.signal).then(
        ({ documents }) => {
          setFound(documents);
          const here = new Set(documents.map((one) => one.id));
          drop(ids.filter((id) => !here.has(id)));
          if (documents.some((one) => one.status === "waiting" || one.status === "running")) timer = setTimeout(look, LOOK_MS);
        },
        () => undefined, // the banner says that the server is away; it is asked again when it is back
      );
    void look();
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [ids.join(), back]);
  return found;
}
