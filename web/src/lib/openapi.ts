/** Reading an OpenAPI document: its calls in groups, their fields, and an example to copy. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly format?: string;
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>;
interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses?: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>;
}
export interface OpenApi {
  readonly info?: { readonly title?: string; readonly version?: string; readonly summary?: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

export interface FieldRow {
  readonly name: string;
  /** path, query, header, or body */
  readonly place: string;
  readonly type: string;
  readonly required: boolean;
  readonly text: string;
  readonly fallback: string | null;
}
export interface Call {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly text: string;
  readonly fields: readonly FieldRow[];
  readonly answer: readonly FieldRow[];
  /** media type of the answer */
  readonly answerType: string;
  readonly errors: readonly (readonly [status: string, text: string])[];
  readonly body: Schema | null;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

/** The calls of a document by their first tag, in its order. */
export function groupsOf(api: OpenApi): Map<string, Call[]> {
  const groups = new Map<string, Call[]>();
  for (const [path, entry] of Object.entries(api.paths ?? {}))
    for (const method of METHODS.filter((name) => entry[name])) {
      const tag = entry[method].tags?.[0] ?? "";
      groups.set(tag, [...(groups.get(tag) ?? []), callOf(api, method, path, entry[method])]);
    }
  return groups;
}

function callOf(api: OpenApi, method: string, path: string, operation: Operation): Call {
  const content = operation.requestBody?.content;
  const body = content?.["application/json"]?.schema ?? (content && Object.values(content)[0]?.schema) ?? null;
  const parameters = (operation.parameters ?? []).map(
    (one): FieldRow => ({
      name: one.name,
      place: one.in,
      type: typeName(api, plain(one.schema ?? {})),
      required: one.required ?? false,
      text: one.description ?? one.schema?.description ?? "",
      fallback: shownDefault(one.schema),
    }),
  );
  const good = operation.responses?.["200"]?.content ?? {};
  const answerType = Object.keys(good)[0] ?? "";
  return {
    id: `${method}${path.replace(/[^\w]+/g, "-")}`.replace(/-$/, ""),
    method: method.toUpperCase(),
    path,
    text: operation.description ?? operation.summary ?? "",
    fields: [...parameters, ...(body ? rowsOf(api, body, "body") : [])],
    answer: rowsOf(api, good[answerType]?.schema ?? {}, ""),
    answerType,
    body: body && resolve(api, body),
    errors: Object.entries(operation.responses ?? {})
      .filter(([status]) => !status.startsWith("2"))
      .map(([status, found]) => [status, found.description ?? ""] as const),
  };
}

export function resolve(api: OpenApi, schema: Schema, depth = 0): Schema {
  if (!schema.$ref || depth > 8) return schema;
  const found = api.components?.schemas?.[schema.$ref.split("/").pop() ?? ""];
  return found ? resolve(api, found, depth + 1) : {};
}

/** The fields of an object; those of objects and lists of objects in it follow, to the second level: `results[].text`. */
function rowsOf(api: OpenApi, schema: Schema, place: string, before = "", depth = 0): FieldRow[] {
  const whole = resolve(api, plain(schema));
  return Object.entries(whole.properties ?? {}).flatMap(([name, field]) => {
    const inner = resolve(api, plain(field));
    const list = inner.items && resolve(api, plain(inner.items));
    const full = `${before}${name}${list?.properties ? "[]" : ""}`;
    const row: FieldRow = {
      name: full,
      place,
      type: typeName(api, place === "body" ? plain(field) : field),
      required: whole.required?.includes(name) ?? false,
      text: field.description ?? inner.description ?? "",
      fallback: shownDefault(field),
    };
    const below = list?.properties ? list : inner.properties ? inner : null;
    return [row, ...(below && depth < 1 ? rowsOf(api, below, place, `${full}.`, depth + 1) : [])];
  });
}

/** A schema without its "or null". */
const plain = (schema: Schema): Schema => {
  const choices = (schema.anyOf ?? schema.oneOf ?? []).filter((one) => one.type !== "null");
  return choices.length === 1 ? choices[0] : choices.length > 1 ? { ...schema, anyOf: choices, oneOf: undefined } : schema;
};

function shownDefault(schema: Schema | undefined): string | null {
  return schema?.default === undefined || schema.default === null ? null : JSON.stringify(schema.default);
}

/** The type of a value as a reader writes it: `text[]`, `1…16`, `"cut" | "split"`. */
export function typeName(api: OpenApi, given: Schema, depth = 0): string {
  const schema = resolve(api, given);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices && depth < 4) return [...new Set(choices.map((one) => typeName(api, one, depth + 1)))].join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.type === "array") return `${depth < 4 ? typeName(api, schema.items ?? {}, depth + 1) : ""}[]`;
  if (schema.type === "integer" || schema.type === "number") return String(schema.type) + range(schema);
  return String(schema.type ?? (schema.properties ? "object" : "any"));
}

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): string {
  const low = minimum ?? exclusiveMinimum;
  const high = maximum ?? exclusiveMaximum;
  if (low === undefined || high === undefined || high > 1e9) return low === undefined ? "" : ` ≥ ${low}`;
  return ` ${low}…${high}`;
}

/** Values that make an example one that works here: names of fields to values. */
export type Known = Readonly<Record<string, unknown>>;

/** A body with the fields that are required and those that are known by name. */
export function exampleOf(api: OpenApi, schema: Schema, known: Known): unknown {
  const whole = resolve(api, plain(schema));
  if (whole.examples?.length) return whole.examples[0];
  if (whole.properties) {
    const names = Object.keys(whole.properties).filter(
      (name) => whole.required?.includes(name) || ((name === "model" || name === "interventions") && name in known),
    );
    return Object.fromEntries(names.map((name) => [name, name in known ? known[name] : exampleOf(api, whole.properties![name], known)]));
  }
  if (whole.enum) return whole.enum[0];
  if (whole.default !== undefined) return whole.default;
  if (whole.anyOf || whole.oneOf) return exampleOf(api, (whole.anyOf ?? whole.oneOf)![0], known);
  if (whole.type === "array") return [exampleOf(api, whole.items ?? {}, known)];
  return { string: "…", integer: whole.minimum ?? 1, number: whole.minimum ?? 1, boolean: true }[String(whole.type)] ?? {};
}

/** A command line that makes this call. */
export function curlOf(api: OpenApi, call: Call, origin: string, known: Known): string {
  const value = (field: FieldRow) =>
    encodeURIComponent(String(known[field.name] ?? field.fallback?.replace(/^"|"$/g, "") ?? `{${field.name}}`));
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    value(call.fields.find((field) => field.name === name) ?? { name, place: "path", type: "", required: true, text: "", fallback: null }),
  );
  const query = call.fields
    .filter((field) => field.place === "query" && (field.required || field.name in known))
    .map((field) => `${field.name}=${value(field)}`)
    .join("&");
  const stream = call.answerType === "text/event-stream";
  const lines = [`curl ${stream ? "-N " : ""}${quote(origin + path + (query ? `?${query}` : ""))}`];
  if (call.body) lines.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(exampleOf(api, call.body, known)))}`);
  return lines.join(" \\\n  ");
}

const quote = (text: string) => (/^[\w./:?=&%-]+$/.test(text) && !/[?&]/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`);
