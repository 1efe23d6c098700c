/** What a page without a server answers, asked from Python: a question in JSON on standard input, the answers on standard output. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Engine } from "../../web/src/local/engine";
import { LocalModel } from "../../web/src/local/model";
import { answer, Room } from "../../web/src/local/routes";
import { Tokenizer } from "../../web/src/local/tokenizer";

interface Question {
  readonly engine: string;
  /** folders by the names of the models */
  readonly models?: Readonly<Record<string, string>>;
  /** method, path (ID: that of the last trace) and body of each call */
  readonly calls?: readonly (readonly [string, string, unknown])[];
  readonly tokenizers?: readonly { readonly file: string; readonly texts: readonly string[] }[];
}

const asked = JSON.parse(readFileSync(0, "utf8")) as Question;
const bytes = (path: string) => new Uint8Array(readFileSync(path));
const said = (error: unknown) => {
  const { code, detail, field } = error as { code?: string; detail?: string; field?: string };
  if (!code) throw error;
  return { error: code, detail, field };
};

const tokens = (asked.tokenizers ?? []).map(({ file, texts }) => {
  const tokenizer = new Tokenizer(bytes(file), "tokenizer.json");
  return texts.map((text) => {
    const ids = tokenizer.encode(text);
    return [ids, tokenizer.decode(ids)];
  });
});

const answers: unknown[] = [];
const engine = await Engine.open(gunzipSync(bytes(asked.engine)));
let room: Room | null = null;
try {
  const models = Object.entries(asked.models ?? {}).map(([name, folder]) => {
    const files = new Map(readdirSync(folder).map((file) => [file, bytes(join(folder, file))]));
    const indexed = files.has("neighbours.safetensors");
    return new LocalModel(engine, name, files, async (file) => files.get(file) ?? new Uint8Array(), { indexed });
  });
  room = new Room(engine, models);
} catch (error) {
  answers.push(said(error));
}
let id = "";
for (const [method, path, body] of room ? (asked.calls ?? []) : []) {
  const events: unknown[] = [];
  try {
    const say = (event: string, data: unknown) => events.push([event, data]);
    const value = await answer(room!, { method, path: path.replace("ID", id), body }, say, () => false);
    const one = value as { schema?: string; id: string } | null;
    if (one?.schema === "trace/1") id = one.id;
    const plain = (tensors: Map<string, { shape: readonly number[]; data: ArrayLike<number> }>) =>
      Object.fromEntries([...tensors].map(([name, { shape, data }]) => [name, { shape, data: Array.from(data) }]));
    answers.push(events.length > 0 ? events : value instanceof Map ? plain(value) : value);
  } catch (error) {
    answers.push(said(error));
  }
}
process.stdout.write(JSON.stringify({ version: engine.version, tokens, answers }));
