/** The API reference: every call of the server, drawn from its own description. */
import { getOpenApi } from "../api";
import { Badge, IconButton } from "../components/controls";
import { copyText } from "../components/Commands";
import { Await, Empty } from "../components/states";
import { toast } from "../components/toasts";
import { useResource } from "../hooks";
import { hasMessage, t } from "../i18n";
import { curlOf, groupsOf, type Call, type FieldRow, type OpenApi } from "../lib/openapi";
import { model, params, setParams } from "../state";
import "../styles/docs.css";

export function Docs() {
  const api = useResource("openapi", (signal) => getOpenApi(signal) as Promise<OpenApi>);
  return (
    <div class="screen docs">
      <header class="screen-head">
        <h1>{t("docs.title")}</h1>
        <p>
          {t("docs.intro")}{" "}
          <a href="/openapi.json" download="openapi.json">
            {t("docs.file")}
          </a>
        </p>
      </header>
      <Await of={api} height={480}>
        {(found) => {
          const groups = [...groupsOf(found)];
          return groups.length > 0 ? (
            groups.map(([tag, calls]) => <Group key={tag} api={found} tag={tag} calls={calls} />)
          ) : (
            <Empty title={t("docs.empty")} />
          );
        }}
      </Await>
    </div>
  );
}

/** `name` in a text of the server's is a name in code. */
const coded = (text: string) => text.split("`").map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part));

function Group({ api, tag, calls }: { api: OpenApi; tag: string; calls: readonly Call[] }) {
  const name = `docs.tag_${tag.replace("-", "_")}`;
  return (
    <section>
      <h2 class="small muted">{hasMessage(name) ? t(name) : tag}</h2>
      <div class="card docs-calls">
        {calls.map((call) => (
          <One key={call.id} api={api} call={call} />
        ))}
      </div>
    </section>
  );
}

/** One call; the open one is in the address. */
function One({ api, call }: { api: OpenApi; call: Call }) {
  const open = params.value.o === call.id;
  return (
    <details open={open}>
      <summary
        onClick={(event) => {
          event.preventDefault();
          setParams({ o: open ? null : call.id }, { push: true });
        }}
      >
        <span class={`method ${call.method.toLowerCase()}`}>{call.method}</span>
        <code>{call.path}</code>
        <span class="muted">{coded(call.text.split("\n")[0])}</span>
      </summary>
      {open && <Details api={api} call={call} />}
    </details>
  );
}

function Details({ api, call }: { api: OpenApi; call: Call }) {
  const card = model.value;
  const text = card?.examples[0] ?? "…";
  const known = {
    ...(card ? { model: card.name, source: card.source_language, target: card.target_language } : {}),
    text,
    texts: [text],
    q: text,
    sources: [text],
    targets: ["…"],
    ...(call.path === "/v1/what-if" ? { interventions: [{ op: "ban", text: ["2024"] }] } : {}),
  };
  const command = curlOf(api, call, location.origin, known);
  const copy = async () => {
    await copyText(command);
    toast(t("shell.copied"));
  };
  return (
    <div class="stack docs-details">
      {call.text.includes("\n") && <p class="muted">{coded(call.text.split("\n").slice(1).join(" ").trim())}</p>}
      <div class="docs-example">
        <pre tabIndex={0} aria-label={t("docs.example")}>
          {command}
        </pre>
        <IconButton icon="copy" label={t("shell.copy")} onClick={() => void copy()} />
      </div>
      {call.fields.length > 0 && <Fields title={t("docs.fields")} rows={call.fields} asked />}
      {call.answer.length > 0 && <Fields title={t("docs.answer")} rows={call.answer} />}
      {call.answer.length === 0 && call.answerType !== "" && (
        <p class="note">
          {t("docs.answer")} <code>{call.answerType}</code>
        </p>
      )}
      {call.errors.length > 0 && (
        <div>
          <h3 class="muted">{t("docs.errors")}</h3>
          <ul class="docs-errors">
            {call.errors.map(([status, text]) => (
              <li key={status}>
                <code>{status}</code> {text}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

function Fields({ title, rows, asked }: { title: string; rows: readonly FieldRow[]; asked?: boolean }) {
  return (
    <div>
      <h3 class="muted">{title}</h3>
      <div class="scroll docs-fields" tabIndex={0} role="region" aria-label={title}>
        <table class="data">
          <tbody>
            {rows.map((row) => (
              <tr key={row.place + row.name}>
                <th scope="row">
                  <code>{row.name}</code>
                </th>
                <td class="muted">
                  <code>{row.type}</code>
                </td>
                {asked && (
                  <td>
                    {row.required ? (
                      <Badge>{t("docs.required")}</Badge>
                    ) : row.place !== "body" && row.place !== "query" ? (
                      <Badge>{row.place}</Badge>
                    ) : null}
                  </td>
                )}
                <td>
                  {coded(row.text)}
                  {asked && row.fallback !== null && <span class="faint"> {t("docs.default", { value: row.fallback })}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
