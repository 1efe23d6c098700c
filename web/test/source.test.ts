/** Rules of the source that no compiler checks: nothing that runs text as code or markup, no visible string outside the message files. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import * as messages from "../src/messages";

declare const __WEB__: string;
const root = join(__WEB__, "src");

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesIn(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}
const sources = filesIn(root)
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => ({ name: relative(root, path), text: readFileSync(path, "utf8") }));
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");

test("nothing writes markup or runs text", () => {
  const forbidden =
    /\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|createContextualFragment)\b|\beval\s*\(|\bnew\s+Function\b|\bsetTimeout\s*\(\s*["'`]/;
  for (const { name, text } of sources) assert.doesNotMatch(withoutComments(text), forbidden, name);
});

test("no address of another origin is loaded", () => {
  for (const { name, text } of sources) {
    const found = [...withoutComments(text).matchAll(/https?:\/\/[^\s"'`)]+/g)]
      .map((match) => match[0])
      .filter((url) => !/^http:\/\/www\.w3\.org\//.test(url));
    assert.deepEqual(found, [], name);
  }
});

/** Text between tags and in visible attributes that holds two letters in a row, or any Hangul. */
function hardCoded(text: string): string[] {
  const plain = withoutComments(text);
  const between = [...plain.matchAll(/<\/?[A-Za-z][\w.]*(?:\s[^<>]*)?>([^<>{}=;()]*)(?=<|\{)/g)].map((match) => match[1]);
  const attributes = [...plain.matchAll(/\s(?:title|aria-label|placeholder|label|alt)="([^"]*)"/g)].map((match) => match[1]);
  return [...between, ...attributes].map((found) => found.trim()).filter((found) => /\p{L}{2}|[가-힣]/u.test(found));
}

/** The name of the program, its commands, formulas' letters and keys are the same in every language. */
const SAME = new Set(["jumok", "jumok serve"]);

test("visible strings come from the message files", () => {
  assert.deepEqual(hardCoded(`<p class="x">Hello there</p>`), ["Hello there"]);
  // a comparison's report is an English document, as the sentences in it are
  for (const { name, text } of sources.filter((file) => file.name.endsWith(".tsx") && !file.name.startsWith("report/"))) {
    assert.deepEqual(
      hardCoded(text).filter((found) => !SAME.has(found)),
      [],
      name,
    );
  }
});

test("every message stands in both languages, with the same arguments", () => {
  const args = (text: string) => [...new Set([...text.matchAll(/\{(\w+)/g)].map((match) => match[1]))].sort();
  for (const [file, table] of Object.entries(messages))
    for (const [key, [en, ko]] of Object.entries<readonly [string, string]>(table)) {
      assert.ok(en.trim() && ko.trim(), `${file}.${key}`);
      assert.deepEqual(args(ko), args(en), `${file}.${key}`);
      assert.doesNotMatch(en, /\bpieces?\b/i, `${file}.${key}: the word is token`);
    }
});

test("every message is used and every used message exists", () => {
  const code = sources
    .filter((file) => !file.name.startsWith("messages") && file.name !== "local/weights.ts") // where names are those of tensors
    .map((file) => withoutComments(file.text))
    .join("\n");
  const literal = new Set([...code.matchAll(/["'`]([a-z]+\.[A-Za-z0-9_.]+)["'`]/g)].map((match) => match[1]));
  const prefixes = [...code.matchAll(/`([a-z]+\.[A-Za-z0-9_.]*)\$\{/g)].map((match) => match[1]);
  assert.deepEqual(
    prefixes.filter((prefix) => prefix.endsWith(".") && prefix.slice(0, -1) in messages),
    [],
    "a key built from its file name alone hides unused messages",
  );
  const errors = /^shell\.error_/;
  const problems: string[] = [];
  for (const [file, table] of Object.entries(messages)) {
    for (const key of Object.keys(table)) {
      const full = `${file}.${key}`;
      if (!(literal.has(full) || errors.test(full) || prefixes.some((prefix) => full.startsWith(prefix))))
        problems.push(`${full} is not used`);
    }
    for (const used of literal)
      if (used.startsWith(`${file}.`) && !(used.slice(file.length + 1) in table) && !/\.(css|ts|json|safetensors)$/.test(used))
        problems.push(`${used} does not exist`);
  }
  assert.deepEqual(problems, []);
});
