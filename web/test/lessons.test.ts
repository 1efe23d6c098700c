/** The chapters of Learn: both languages alike, every view an address that the page can open. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Card } from "../src/api-types";
import { viewAddress, sentenceFor, type Book, type Formula } from "../src/lib/lessons";
import { decodeOps, parseAddress, SCREENS } from "../src/lib/link";

declare const __WEB__: string;
const book = JSON.parse(readFileSync(join(__WEB__, "src/learn.json"), "utf8")) as Book;
const card = (arch: Card["arch"], target_language = "iso8601"): Card => ({
  name: `my ${arch}`,
  arch,
  source_language: "mul",
  target_language,
  score: null,
  context: false,
  source: "text",
  image: null,
  sentences: "as-is",
  parameters: 1,
  fingerprint: "",
  max_length: 96,
  positions: null,
  d_model: 8,
  kinds: {},
  decoding: {},
  limits: {},
  run: null,
  examples: ["a long example here", "short", "not so long"],
});
const trio = [card("transformer"), card("rnn"), card("luong")];

test("eight chapters, in both languages, with the same parts", () => {
  assert.equal(book.chapters.length, 8);
  for (const chapters of [book.en, book.ko]) {
    assert.equal(chapters.length, 8);
    chapters.forEach((chapter, i) => {
      assert.equal(chapter.text.length, book.en[i].text.length, chapter.title);
      assert.equal(chapter.tries.length, book.chapters[i].views.length, chapter.title);
      const written = [chapter.title, chapter.says, ...chapter.text, ...chapter.tries.flatMap((one) => [one.label, one.look])];
      for (const text of written) assert.ok(text.trim().length > 0 && text.split("*").length % 2 === 1, text);
    });
  }
  for (const chapter of book.ko) assert.match(chapter.text.join(""), /[가-힣]/);
});

test("formulas use elements of MathML only", () => {
  const known = ["mrow", "msub", "msup", "msubsup", "mfrac", "msqrt"];
  const check = (formula: Formula): void => {
    assert.notEqual(formula, "");
    if (typeof formula === "string") return;
    assert.ok(known.includes(formula[0] as string), String(formula[0]));
    formula.slice(1).forEach(check);
  };
  for (const chapter of book.chapters) chapter.formulas.forEach(check);
});

test("every view opens a screen with a model, a text and readable interventions", () => {
  book.chapters.forEach(({ views }, c) =>
    views.forEach((view, n) => {
      const address = viewAddress(book, c, n, trio)!;
      const [path, search] = address.split("?");
      const { screen, params } = parseAddress(path, search);
      assert.ok(SCREENS.includes(screen));
      assert.equal(screen, view.screen);
      assert.equal(params.s, book.texts[view.text]);
      assert.ok(trio.some((one) => one.name === params.m && (view.arch.length === 0 || view.arch.includes(one.arch))));
      assert.equal(decodeOps(params.w ?? "")!.length, view.ops?.length ?? 0);
      assert.doesNotMatch(JSON.stringify(decodeOps(params.w ?? "")), /\{other\}/);
      assert.equal(params.le, `${c + 1}.${n + 1}`);
    }),
  );
});

test("without a fitting model a view cannot be opened", () => {
  assert.equal(viewAddress(book, 1, 0, [card("rnn")]), null);
  assert.equal(viewAddress(book, 1, 1, [card("transformer")]), null);
  assert.equal(viewAddress(book, 0, 0, []), null);
});

test("a model of something else is shown its own examples", () => {
  const other = card("transformer", "en");
  assert.deepEqual(
    (["short", "other", "long", "new"] as const).map((which) => sentenceFor(book, other, which)),
    ["short", "not so long", "a long example here", "🎉 short"],
  );
});
