/** The note that a chapter of Learn leaves on the screen it has opened. */
import { useEffect } from "preact/hooks";
import { getFile } from "../api";
import { embedded } from "../embedded";
import { useResource } from "../hooks";
import { locale, t } from "../i18n";
import { chapterHref, viewOf, type Book } from "../lib/lessons";
import { ops, params, screen, setParams, whatIfOpen } from "../state";
import { IconButton } from "./controls";
import { Link } from "./Link";
import { Icon } from "./Icon";

/** The texts are data beside the page, so that only readers of Learn load them. */
export const useBook = (on = true) => useResource(on ? "learn" : null, (signal) => getFile<Book>("learn.json", signal), { cache: true });

/** What to look at on a screen that a chapter has opened; `le` of the address says which, "tokens.1" for the first view of that chapter. */
export function LessonNote() {
  const { le } = params.value;
  const book = useBook(le !== undefined && !embedded).value;
  const found = le !== undefined && book ? viewOf(book, le) : null;
  const shown = found?.chapter.views[found.n].screen === screen.value;
  useEffect(() => {
    if (shown && ops.value.length > 0 && innerWidth > 1100) whatIfOpen.value = true;
  }, [le, shown]);
  if (!found || !shown) return null;
  const { title, tries } = found.chapter[locale.value];
  const { label, look } = tries[found.n];
  return (
    <aside class="lesson" aria-label={t("learn.title")}>
      <Icon name="learn" size={18} />
      <p>
        <b>{label}.</b> {look}
      </p>
      <Link href={chapterHref(found.chapter.id)}>{t("learn.back", { title })}</Link>
      <IconButton icon="close" label={t("shell.close")} onClick={() => setParams({ le: null })} />
    </aside>
  );
}
