/** The note that a chapter of Learn leaves on the screen it has opened. */
import { useEffect } from "preact/hooks";
import { getJson } from "../api";
import { embedded } from "../embedded";
import { useResource } from "../hooks";
import { locale, t } from "../i18n";
import type { Book } from "../lib/lessons";
import { formatAddress } from "../lib/link";
import { ops, params, screen, setParams, whatIfOpen } from "../state";
import { IconButton } from "./controls";
import { Link } from "./Link";
import { Icon } from "./Icon";

/** The texts are data beside the page, so that only readers of Learn load them. */
export const useBook = (on = true) => useResource(on ? "learn" : null, (signal) => getJson<Book>("/learn.json", signal), { cache: true });
export const chapterHref = (n: number) => formatAddress({ screen: "learn", rest: String(n + 1), params: {} });

/** What to look at on a screen that a chapter has opened; `le` of the address says which, "2.1" for the first view of chapter 2. */
export function LessonNote() {
  const { le } = params.value;
  const book = useBook(le !== undefined && !embedded).value;
  const [chapter, n] = (le ?? "").split(".").map((part) => Number(part) - 1);
  const shown = le !== undefined && book?.chapters[chapter]?.views[n]?.screen === screen.value;
  useEffect(() => {
    if (shown && ops.value.length > 0 && innerWidth > 1100) whatIfOpen.value = true;
  }, [le, shown]);
  if (!shown) return null;
  const { label, look } = book[locale.value][chapter].tries[n];
  return (
    <aside class="lesson" aria-label={t("learn.title")}>
      <Icon name="learn" size={18} />
      <p>
        <b>{label}.</b> {look}
      </p>
      <Link href={chapterHref(chapter)}>{t("learn.back", { n: chapter + 1 })}</Link>
      <IconButton icon="close" label={t("shell.close")} onClick={() => setParams({ le: null })} />
    </aside>
  );
}
