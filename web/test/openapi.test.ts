/** The API reference: the committed description of the server becomes calls, fields and commands. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { curlOf, exampleOf, groupsOf, typeName, type OpenApi } from "../src/lib/openapi";

declare const __WEB__: string;
const api = JSON.parse(readFileSync(join(__WEB__, "../docs/openapi.json"), "utf8")) as OpenApi;
const calls = [...groupsOf(api).values()].flat();
const known = { model: "my model", texts: ["it's"], text: "it's" };

test("every call of the document is listed once", () => {
  const count = Object.values(api.paths ?? {}).reduce(
    (sum, entry) => sum + Object.keys(entry).filter((name) => name !== "parameters").length,
    0,
  );
  assert.equal(calls.length, count);
  assert.equal(new Set(calls.map((call) => call.id)).size, calls.length);
  for (const call of calls) assert.ok(call.text !== "", call.id);
});

test("fields have a place, a type and their default", () => {
  const translate = calls.find((call) => call.method === "POST" && call.path === "/v1/translate")!;
  const texts = translate.fields.find((field) => field.name === "texts")!;
  assert.deepEqual([texts.place, texts.type, texts.required], ["body", "string[]", true]);
  assert.equal(translate.fields.find((field) => field.name === "align")!.fallback, "false");
  assert.ok(translate.answer.some((field) => field.name === "results[].text"));
  assert.ok(translate.errors.some(([status]) => status === "422"));
});

test("a command can be pasted into a shell", () => {
  const translate = calls.find((call) => call.method === "POST" && call.path === "/v1/translate")!;
  assert.equal(
    curlOf(api, translate, "http://h:1", known),
    `curl http://h:1/v1/translate \\\n  -H 'Content-Type: application/json' \\\n  -d '{"model":"my model","texts":["it'\\''s"]}'`,
  );
  const positions = calls.find((call) => call.path === "/v1/models/{model}/positions")!;
  assert.equal(curlOf(api, positions, "http://h:1", known), "curl http://h:1/v1/models/my%20model/positions");
  for (const call of calls) assert.ok(curlOf(api, call, "http://h:1", known).startsWith("curl "));
});

test("examples and types of schemas, references and choices", () => {
  const small: OpenApi = {
    components: {
      schemas: {
        A: {
          properties: { n: { type: "integer", minimum: 1, maximum: 9 }, how: { enum: ["x", "y"] }, free: { type: "string" } },
          required: ["n", "how"],
        },
      },
    },
  };
  assert.deepEqual(exampleOf(small, { $ref: "#/components/schemas/A" }, {}), { n: 1, how: "x" });
  assert.equal(typeName(small, { anyOf: [{ type: "integer", minimum: 1, maximum: 9 }, { type: "null" }] }), "integer 1…9 | null");
  assert.equal(typeName(small, { type: "array", items: { enum: ["x"] } }), '"x"[]');
  assert.deepEqual([...groupsOf({})], []);
});
