/** The conversation so far and the place to go on with it. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { copyText } from "../../components/Commands";
import { Button, IconButton } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { problemText } from "../../components/states";
import { toast } from "../../components/toasts";
import { download } from "../../export";
import { numbers, t } from "../../i18n";
import type { TableData } from "../../lib/csv";
import { percent } from "../../lib/format";
import { isPicture } from "../../lib/picture";
import { joinQuestion, splitQuestion } from "../../lib/questions";
import { model, models, source } from "../../state";
import { ask, asked, choose, chosen, forget, stop, turns, unasked, type Settings, type Turn } from "./turns";

export function Talk({ settings }: { settings: Settings }) {
  const list = useRef<HTMLDivElement>(null);
  const said = turns.value;
  const last = said[said.length - 1];
  const on = chosen.value?.key;
  // who has gone back to an older answer is left there while a newer one is still being written
  useLayoutEffect(() => {
    if (list.current && last?.state === "running" && last.key === on) list.current.scrollTop = list.current.scrollHeight;
  }, [said.length, last?.text, last?.state]);
  useLayoutEffect(() => list.current?.querySelector(".chat-turn.on")?.scrollIntoView({ block: "nearest" }), [on]);
  const json = () =>
    download(
      "chat.json",
      "application/json",
      JSON.stringify(
        said.map(({ request, text, perToken }) => ({ ...request, answer: text, score_per_token: perToken })),
        null,
        2,
      ),
    );
  return (
    <Figure
      className="chat-talk"
      title={t("chat.talk")}
      file="chat"
      table={tableOf}
      words
      exports={[{ label: t("chat.export_json"), onSelect: json }]}
      tools={
        said.length > 0 && (
          <Button kind="quiet" onClick={() => forget()}>
            {t("chat.clear")}
          </Button>
        )
      }
    >
      {said.length === 0 ? (
        <Start settings={settings} />
      ) : (
        <div class="chat-list" ref={list} role="log" aria-label={t("chat.talk")} tabIndex={0}>
          <ol>
            {said.map((turn) => (
              <Exchange key={turn.key} turn={turn} />
            ))}
          </ol>
        </div>
      )}
    </Figure>
  );
}

function Start({ settings }: { settings: Settings }) {
  const examples = model.value?.examples.slice(0, 4) ?? [];
  return (
    <div class="state">
      <h2>{t("chat.empty")}</h2>
      <p>{t("chat.empty_text")}</p>
      <div class="row">
        {examples.map((text) => (
          <button key={text} type="button" class="chip" lang={model.value?.source_language} onClick={() => choose(text, settings)}>
            <bdi class="clip">{splitQuestion(text).question}</bdi>
          </button>
        ))}
      </div>
    </div>
  );
}

function Exchange({ turn }: { turn: Turn }) {
  const { question, context } = splitQuestion(turn.request.text);
  const on = turn.key === chosen.value?.key;
  const card = models.value?.find((one) => one.name === turn.request.model) ?? null;
  const way = { cut: turn.request.long === "cut", card };
  const again = () => choose(turn.request.text, unasked(turn.request.text, turn.settings, way), way);
  const { sample, temperature, seed, beam } = turn.settings;
  return (
    <li class={on ? "chat-turn on" : "chat-turn"}>
      <div class="chat-question">
        <p dir="auto" lang={card?.source_language}>
          {question}
        </p>
        {context && (
          <p class="small muted clip" dir="auto" title={context}>
            {t("chat.about", { text: context })}
          </p>
        )}
      </div>
      {turn.state === "failed" ? (
        <div class="chat-failed" role="alert">
          <p>{problemText(turn.error!)}</p>
          {turn.error!.detail && turn.error!.status !== 0 && <p class="small muted">{turn.error!.detail}</p>}
          <div class="row">
            <Button onClick={() => void ask(turn)}>{t("shell.retry")}</Button>
            {turn.error!.code === "too_long" && turn.request.long !== "cut" && (
              <Button onClick={() => choose(turn.request.text, turn.settings, { cut: true, card })}>{t("chat.cut")}</Button>
            )}
          </div>
        </div>
      ) : (
        <button
          type="button"
          class="chat-answer"
          aria-pressed={on}
          aria-busy={turn.state === "running"}
          lang={card?.target_language}
          title={t("chat.look_at")}
          disabled={turn.state === "running"}
          onClick={() => choose(turn.request.text, turn.settings, way)}
        >
          <bdi dir="auto">{turn.text || (turn.state === "running" ? "…" : t("chat.no_words"))}</bdi>
        </button>
      )}
      <div class="chat-tools">
        {turn.state === "running" ? (
          <Button kind="quiet" onClick={() => stop(turn.key)}>
            {t("chat.stop")}
          </Button>
        ) : (
          <>
            {sample && <IconButton icon="again" size={16} label={t("chat.again")} onClick={again} />}
            {turn.text && (
              <IconButton
                icon="copy"
                size={16}
                label={t("chat.copy")}
                onClick={() => void copyText(turn.text).then(() => toast(t("shell.copied")))}
              />
            )}
            <IconButton icon="close" size={16} label={t("chat.forget")} onClick={() => forget(turn.key)} />
          </>
        )}
      </div>
      <div class="row small muted chat-about">
        {model.value?.name !== turn.request.model && <span>{turn.request.model}</span>}
        <span>
          {sample ? t("chat.drawn", { temperature: numbers.value.format(temperature), seed: String(seed) }) : t("chat.found", { beam })}
        </span>
        {turn.perToken !== null && <span title={t("chat.sure_why")}>{t("chat.sure", { share: percent(Math.exp(turn.perToken)) })}</span>}
        {turn.ms !== null && <span>{t("translate.ms", { n: numbers.value.format(Number(turn.ms.toPrecision(3))) })}</span>}
        {turn.state === "stopped" && <span class="warn">{t("chat.stopped")}</span>}
      </div>
    </li>
  );
}

function tableOf(): TableData {
  const head = [
    t("chat.column_question"),
    t("chat.column_context"),
    t("chat.column_answer"),
    t("chat.column_model"),
    t("chat.temperature"),
    t("chat.top_k"),
    t("chat.top_p"),
    t("chat.seed"),
    t("translate.beam"),
    t("chat.column_score"),
  ];
  const rows = turns.value.map(({ request, settings: { sample, ...one }, text, perToken }) => {
    const { question, context } = splitQuestion(request.text);
    return [
      question,
      context,
      text,
      request.model ?? "",
      ...(sample ? [one.temperature, one.topK, one.topP, one.seed, null] : [null, null, null, null, one.beam]),
      perToken,
    ];
  });
  return { head, rows };
}

/** Where a question is written. Enter asks, Shift+Enter begins a line, ↑ in an empty box brings the last question back. */
export function Composer({ settings }: { settings: Settings }) {
  const now = splitQuestion(asked.value?.request.text ?? "");
  const [draft, setDraft] = useState("");
  const [context, setContext] = useState(now.context);
  const box = useRef<HTMLTextAreaElement>(null);
  const reads = model.value?.context === true;
  useEffect(() => {
    if (now.context) setContext(now.context);
  }, [now.context]);
  const send = () => {
    if (draft.trim() === "") return;
    const text = reads ? joinQuestion(draft, context) : draft.trim();
    choose(text, unasked(text, settings));
    setDraft("");
    box.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send();
    else if (event.key === "ArrowUp" && draft === "" && turns.value.length > 0)
      setDraft(splitQuestion(turns.value[turns.value.length - 1].request.text).question);
    else if (event.key === "Escape") return box.current?.blur();
    else return;
    event.preventDefault();
  };
  const example = isPicture(source.value) ? "" : splitQuestion(source.value).question;
  return (
    <form
      class="card chat-composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {reads && (
        <details open={context !== ""}>
          <summary>{t("chat.context")}</summary>
          <textarea
            class="input"
            rows={4}
            dir="auto"
            lang={model.value?.source_language}
            aria-label={t("chat.context")}
            placeholder={t("chat.context_hint")}
            value={context}
            onInput={(event) => setContext(event.currentTarget.value)}
          />
        </details>
      )}
      <div class="chat-write">
        <textarea
          ref={box}
          class="input"
          data-input
          rows={1}
          dir="auto"
          lang={model.value?.source_language}
          aria-label={t("chat.question")}
          placeholder={example ? t("chat.question_hint", { example }) : t("chat.question")}
          value={draft}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <button type="submit" class="btn primary" disabled={draft.trim() === ""}>
          {t("chat.ask")}
        </button>
      </div>
      <p class="small faint">{t("chat.single")}</p>
    </form>
  );
}
