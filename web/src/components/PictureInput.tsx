/** Where a picture is chosen, dropped or pasted for a model that reads pictures. */
import { useEffect, useRef, useState } from "preact/hooks";
import { postTrace } from "../api";
import { embedded } from "../embedded";
import { problemOf } from "../errors";
import { t } from "../i18n";
import { isPicture, readPicture } from "../lib/picture";
import { model, options, setParams, source } from "../state";
import { Icon } from "./Icon";
import { problemText } from "./states";
import { toast } from "./toasts";
import { Button } from "./controls";

const show = (url: string) => setParams({ s: url, t: null, px: null, i: null, q: null, j: null, w: null }, { push: true });

/** `small`: one line, for the bar at the top. */
export function PictureInput({ small = false }: { small?: boolean }) {
  const [busy, setBusy] = useState(false);
  const [over, setOver] = useState(false);
  const file = useRef<HTMLInputElement>(null);
  /** The model's own view of the picture is what the address holds: a few kilobytes that stand for the same patches. */
  const take = async (given: Blob | null | undefined) => {
    if (!given || embedded) return;
    if (!given.type.startsWith("image/")) return toast(t("figure.not_picture"));
    setBusy(true);
    try {
      const text = await readPicture(given).catch(() => Promise.reject(null));
      show((await postTrace({ model: model.value!.name, text, ...options.value })).source.text);
    } catch (error) {
      toast(error === null ? t("figure.not_picture") : problemText(problemOf(error)));
    } finally {
      setBusy(false);
    }
  };
  const latest = useRef(take);
  latest.current = take;
  // anywhere on the page: a picture dropped beside the box would otherwise replace the page
  useEffect(() => {
    const stop = new AbortController();
    const on = <E extends keyof WindowEventMap>(name: E, act: (event: WindowEventMap[E]) => void) =>
      addEventListener(name, act, { signal: stop.signal });
    on("paste", (event) => {
      const found = [...(event.clipboardData?.files ?? [])].find((one) => one.type.startsWith("image/"));
      if (!found || event.defaultPrevented) return;
      event.preventDefault();
      void latest.current(found);
    });
    on("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    });
    on("dragleave", (event) => event.relatedTarget === null && setOver(false));
    on("drop", (event) => {
      setOver(false);
      const found = event.dataTransfer?.files[0];
      if (!found || event.defaultPrevented) return;
      event.preventDefault();
      void latest.current(found);
    });
    return () => stop.abort();
  }, []);
  const now = source.value;
  const examples = exampleUrls();
  return (
    <div class={`picture-input${small ? " small" : ""}${over ? " over" : ""}`} aria-busy={busy}>
      {isPicture(now) ? <img class="picture-now" src={now} alt={t("figure.picture_now")} /> : <span class="picture-now" />}
      <div class="stack">
        {!embedded && (
          <div class="row">
            <Button data-input disabled={busy} onClick={() => file.current?.click()}>
              <Icon name="image" size={16} />
              {busy ? t("shell.loading") : t("figure.choose_picture")}
            </Button>
            <span class="small faint wide-only">{t("figure.drop_picture")}</span>
            <input
              ref={file}
              type="file"
              accept="image/png,image/jpeg,image/webp,image/gif,image/bmp,image/svg+xml"
              hidden
              aria-label={t("figure.choose_picture")}
              onChange={(event) => {
                void take(event.currentTarget.files?.[0]);
                event.currentTarget.value = "";
              }}
            />
          </div>
        )}
        {!small && examples.length > 1 && (
          <div class="row" role="group" aria-label={t("translate.examples")}>
            {examples.map((url, i) => (
              <button
                key={url}
                type="button"
                class="picture-example"
                aria-pressed={url === now}
                aria-label={t("figure.sample_picture", { n: i + 1 })}
                onClick={() => show(url)}
              >
                <img src={url} alt="" />
              </button>
            ))}
          </div>
        )}
      </div>
    </div>
  );
}

/** Pictures to choose from: the model's examples, or in an exported file those that it holds. */
function exampleUrls(): readonly string[] {
  const card = model.value;
  if (!card) return [];
  const own = embedded
    ? embedded.traces.filter((trace) => trace.model.name === card.name).map((trace) => trace.source.text)
    : card.examples;
  return [...new Set(own.filter(isPicture))].slice(0, 8);
}
