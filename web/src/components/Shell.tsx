/** The frame of the page: top bar, rail of screens, the screen itself, drawer, banner, help. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getTrace, online } from "../api";
import { embedded } from "../embedded";
import { t } from "../i18n";
import { helpOpen } from "../keys";
import { answersQuestions } from "../lib/languages";
import { encodeOps, SCREENS, type Screen } from "../lib/link";
import { hasScreen } from "../local/site";
import { bring, drawable, missed, screens, style } from "../screens";
import {
  badLink,
  go,
  href,
  linkProblem,
  loadModels,
  missingPart,
  model,
  models,
  modelsError,
  ops,
  params,
  route,
  screen,
  seesPictures,
  sentence,
  sentenceIndex,
  sentences,
  setParams,
  source,
  taught,
  teachOpen,
  whatIfOpen,
} from "../state";
import { FirstRun } from "./FirstRun";
import { Help } from "./Help";
import { Icon } from "./Icon";
import { LookMenu, ModelMenu } from "./Bars";
import { PictureInput } from "./PictureInput";
import { IconButton } from "./controls";
import { Link } from "./Link";
import { Menu } from "./Popover";
import { Empty, Failed, Loading } from "./states";
import { toast, Toasts } from "./toasts";
import { LessonNote } from "./LessonNote";
import { Tour } from "./Tour";
import { EditBar } from "./whatif/EditBar";
import { PinBar } from "./whatif/PinBar";
import { WhatIf } from "./WhatIf";

/** Told by the build: true in the script of exported files. */
declare const __FILE__: boolean;

export function Shell() {
  useKeptTrace();
  return (
    <div class="shell">
      <a class="sr" href="#main" onClick={toMain}>
        {t("shell.skip")}
      </a>
      <TopBar />
      <Rail />
      <div class="notices">
        {taught.value && <Later part="Card" />}
        <Banner />
        {screens[screen.value].looks && <PinBar />}
        {screens[screen.value].looks && screen.value !== "translate" && <SentencePick />}
        {screens[screen.value].looks && <EditBar />}
        <LessonNote />
        <Tour />
      </div>
      <main class="main" id="main" tabIndex={-1}>
        <Body />
      </main>
      <Toasts />
      <Help />
      {teachOpen.value && !taught.value && <Later part="Panel" />}
    </div>
  );
}

/** A part for a class, which comes when it is wanted. */
function Later({ part }: { part: "Card" | "Panel" }) {
  const [parts, setParts] = useState<Record<typeof part, ComponentType> | null>(null);
  useEffect(() => {
    if (!__FILE__) void Promise.all([import("../teach/teach"), style("more")]).then(([found]) => setParts(found));
  }, []);
  const Part = parts?.[part];
  return Part ? <Part /> : null;
}

/** Past the bars, without a word in the address. */
function toMain(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function TopBar() {
  const { needsModel, looks: asks } = screens[screen.value];
  return (
    <header class="topbar">
      <Link class="brand" href={href("translate")} aria-label={t("shell.home")}>
        jumok
        <i />
      </Link>
      {needsModel && !taught.value && <ModelMenu />}
      {asks && screen.value !== "translate" && (seesPictures.value ? <PictureInput small /> : <SentenceInput />)}
      <div class="tools">
        {asks && embedded && ops.value.length > 0 && <span class="badge warn">{t("whatif.after_n", { n: ops.value.length })}</span>}
        {asks && !embedded && model.value && (
          <button
            type="button"
            class="btn quiet"
            aria-pressed={whatIfOpen.value}
            aria-keyshortcuts="w"
            onClick={() => (whatIfOpen.value = !whatIfOpen.value)}
          >
            <Icon name="whatif" size={18} />
            <span class="wide-only">{t("shell.whatif")}</span>
            {ops.value.length > 0 && (
              <span class="badge count" title={t("whatif.after_n", { n: ops.value.length })}>
                {ops.value.length}
              </span>
            )}
          </button>
        )}
        <LookMenu />
        <IconButton icon="help" label={t("shell.help")} shortcut="?" onClick={() => (helpOpen.value = true)} />
      </div>
    </header>
  );
}

/** The sentence every model screen shows, in the bar of the screens that have no larger input. */
function SentenceInput() {
  const [draft, setDraft] = useState(source.value);
  useEffect(() => setDraft(source.value), [source.value]);
  const commit = () => draft !== source.value && setParams({ s: draft, t: null, px: null, i: null }, { push: true });
  return (
    <form
      class="sentence"
      onSubmit={(event) => {
        event.preventDefault();
        commit();
      }}
    >
      <input
        class="input"
        data-input
        dir="auto"
        type="text"
        lang={model.value?.source_language}
        aria-label={t("shell.sentence")}
        placeholder={t("shell.sentence_hint")}
        value={draft.trim() && draft}
        readOnly={embedded !== null || taught.value}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onBlur={commit}
      />
    </form>
  );
}

/** Screens that a phone's bar has room for; it keeps the others behind "More". */
const FIRST: readonly Screen[] = ["translate", "attention", "compare", "learn"];

function Rail() {
  if (taught.value) return null;
  const talks = (models.value ?? []).some(answersQuestions);
  const there = (name: Screen) => (embedded ? screens[name].looks : hasScreen(name));
  const shown = SCREENS.filter((name) => there(name) && (name !== "chat" || talks || screen.value === "chat"));
  const rest = shown.filter((name) => !FIRST.includes(name) && name !== screen.value);
  return (
    <nav class="rail" aria-label={t("shell.screens")}>
      {shown.map((name) => (
        <Link
          key={name}
          href={href(name)}
          class={[name === "learn" && "apart", rest.includes(name) && "later"].filter(Boolean).join(" ") || undefined}
          aria-current={name === screen.value ? "page" : undefined}
        >
          <Icon name={name} />
          <span>{t(`shell.screen_${name}`)}</span>
        </Link>
      ))}
      <Menu
        className="rail-more"
        name={t("shell.more")}
        items={rest.map((name) => ({ label: t(`shell.screen_${name}`), icon: name, onSelect: () => go(name) }))}
        button={
          <>
            <Icon name="more" />
            <span>{t("shell.more")}</span>
          </>
        }
      />
    </nav>
  );
}

/** Which sentence of a longer text the screen shows, on screens that have no list of them. */
function SentencePick() {
  const [n, all] = [sentenceIndex.value, sentences.value.length];
  if (all < 2 || embedded) return null;
  const show = (i: number) => setParams({ i: i || null, q: null, j: null }, { push: true });
  return (
    <div class="row sentence-pick" role="group" aria-label={t("shell.sentence")}>
      <IconButton icon="prev" label={t("shell.sentence_before")} disabled={n === 0} onClick={() => show(n - 1)} />
      <span class="small">{t("shell.sentence_of", { n: n + 1, all })}</span>
      <IconButton icon="next" label={t("shell.sentence_after")} disabled={n === all - 1} onClick={() => show(n + 1)} />
      <bdi class="small muted clip" lang={model.value?.source_language}>
        {sentence.value}
      </bdi>
    </div>
  );
}

/** What stands at an address that the page does not have. */
const Lost = () => (
  <div class="screen">
    <Empty title={t("shell.error_not_found")}>
      <p>
        <code>{`/${route.value.rest}`}</code>
      </p>
      <div class="row">
        <Link class="btn primary" href="/translate">
          {t("shell.screen_translate")}
        </Link>
        <Link class="btn" href="/learn">
          {t("shell.screen_learn")}
        </Link>
      </div>
    </Empty>
  </div>
);

function Banner() {
  const problem = linkProblem.value;
  const text = !online.value
    ? t("shell.offline")
    : badLink.value
      ? t("shell.bad_link")
      : problem === "model"
        ? t("shell.link_model", { asked: params.value.m ?? "", shown: model.value?.name ?? "" })
        : problem === "fingerprint"
          ? t("shell.link_fingerprint")
          : problem === "part"
            ? t("shell.link_part", { asked: missingPart.value ?? "" })
            : null;
  if (text === null) return null;
  return (
    <div class="banner" role="alert">
      <Icon name="alert" size={18} />
      <span class="grow">{text}</span>
      {problem && online.value && (
        <IconButton
          icon="close"
          label={t("shell.close")}
          onClick={() => setParams({ f: null, m: model.value?.name, ...(problem === "part" ? { k: null, l: null, h: null } : {}) })}
        />
      )}
    </div>
  );
}

/** `/t/{id}`: a trace that the server keeps; its model and texts become the address. */
function useKeptTrace(): void {
  const id = /^t\/([\w-]+)$/.exec(route.value.rest)?.[1];
  useEffect(() => {
    if (!id) return;
    getTrace(id).then(
      (kept) =>
        go("translate", {
          m: kept.model.name,
          s: kept.source.text,
          t: kept.target.text,
          w: encodeOps(kept.interventions.map((op) => ({ ...op }))),
        }),
      () => toast(t("shell.error_unknown_trace")),
    );
  }, [id]);
}

function Body() {
  const name = screen.value;
  const { needsModel, looks } = screens[name];
  const Screen = drawable.value[name];
  const lost = name === "translate" && route.value.rest !== "" && !/^t\//.test(route.value.rest);
  useEffect(() => {
    // at once where it is needed, else when the page has settled
    const timer = setTimeout(() => void bring(name), Screen ? 1000 : 0);
    return () => clearTimeout(timer);
  }, [name]);
  if (lost) return <Lost />;
  if (!hasScreen(name))
    return (
      <div class="screen">
        <Empty title={t("shell.needs_serve")}>
          <p>{t("shell.needs_serve_text")}</p>
          <code>jumok serve</code>
        </Empty>
      </div>
    );
  if (needsModel && models.value === null) {
    const error = modelsError.value;
    return <div class="screen">{error ? <Failed error={error} retry={() => void loadModels()} /> : <Loading height={320} />}</div>;
  }
  if (needsModel && models.value?.length === 0) return <FirstRun />;
  if (!Screen)
    return (
      <div class="screen">{missed.value ? <Failed error={missed.value} retry={() => void bring(name)} /> : <Loading height={320} />}</div>
    );
  return (
    <>
      <Screen />
      {looks && whatIfOpen.value && (
        <aside class="drawer" aria-label={t("shell.whatif")}>
          <WhatIf />
        </aside>
      )}
    </>
  );
}
