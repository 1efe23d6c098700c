/** The chapters of Learn: both languages alike, every view an address that the page can open, every figure and fact where it is named. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Card } from "../src/api-types";
import { ORDER, TEXTS } from "../src/learn/chapters";
import {
  cardFor,
  factsOf,
  isRight,
  nextOf,
  readNumber,
  readProgress,
  rightAnswer,
  sentenceFor,
  spreads,
  viewAddress,
  viewOf,
  withFacts,
  type Block,
  type Book,
  type Chapter,
  type ChoiceQuestion,
  type Formula,
  type NumberQuestion,
} from "../src/lib/lessons";
import { decodeOps, parseAddress, SCREENS } from "../src/lib/link";

declare const __WEB__: string;
const folder = join(__WEB__, "src/learn");
const read = (path: string) => readFileSync(join(folder, path), "utf8");
const chapters = ORDER.filter((id) => existsSync(join(folder, "chapters", `${id}.json`))).map(
  (id) => ({ id, ...JSON.parse(read(`chapters/${id}.json`)) }) as Chapter,
);
const book: Book = { texts: TEXTS, chapters };
const LANGUAGES = ["en", "ko"] as const;
const card = (arch: Card["arch"], target_language = "iso8601", source: Card["source"] = "text"): Card => ({
  name: `my ${arch}`,
  arch,
  source_language: "mul",
  target_language,
  score: null,
  context: false,
  source,
  image: null,
  sentences: "as-is",
  confidence: false,
  lowest_score: null,
  neighbours: false,
  members: [],
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
const formulasOf = ({ formula }: Block) => (formula === undefined ? [] : [formula].flat());

test("every chapter has a place in the order, and the notes come one after another", () => {
  const written = readdirSync(join(folder, "chapters")).filter((name) => name.endsWith(".json"));
  assert.ok(written.length > 0);
  for (const name of written) assert.ok((ORDER as readonly string[]).includes(name.replace(".json", "")), name);
  const notes = chapters.map((chapter) => chapter.note);
  assert.deepEqual(notes, [...notes].sort());
});

for (const chapter of chapters)
  test(`${chapter.id}: the same parts in both languages`, () => {
    const shape = (language: "en" | "ko") => {
      const { blocks, tries, question } = chapter[language];
      const options = question.kind === "choice" ? question.options.length : question.within;
      return {
        blocks: blocks.map((block) => [block.figure, formulasOf(block), block.says !== undefined]),
        tries: tries.length,
        question: [question.kind, question.right, options, factsOf(question).sort()],
      };
    };
    assert.deepEqual(shape("en"), shape("ko"));
    assert.equal(chapter.en.tries.length, chapter.views.length);
    for (const language of LANGUAGES) {
      const { title, blocks, tries, question } = chapter[language];
      const options = question.kind === "choice" ? question.options : [];
      const written = [title, question.ask, question.hint, question.why, ...options];
      for (const block of blocks) written.push(block.text, ...(block.says === undefined ? [] : [block.says]));
      for (const one of tries) written.push(one.label, one.look);
      for (const text of written) assert.ok(text?.trim().length > 0 && text.split("*").length % 2 === 1, text);
      for (const text of written) assert.doesNotMatch(text, /\bpieces?\b/i);
      assert.deepEqual([...new Set(blocks.flatMap((block) => block.figure ?? []))].sort(), [...chapter.figures].sort());
      for (const block of blocks) {
        for (const n of formulasOf(block)) assert.ok(chapter.formulas[n], `formula ${n}`);
        assert.equal(block.says === undefined, block.formula === undefined, block.text);
      }
    }
    assert.match(chapter.ko.blocks.map((block) => block.text).join(""), /[가-힣]/);
    assert.doesNotMatch(JSON.stringify(chapter.ko), /조각/);
  });

test("every figure is there, and each has an architecture to show or needs none", () => {
  for (const { id, figures } of chapters) {
    assert.ok(figures.length > 0, `${id} has no figure`);
    for (const name of figures) {
      const code = read(`figures/${name}.tsx`);
      assert.match(code, /^export default function \w+\(/m, name);
      assert.match(code, /^export const arch: readonly Arch\[\] = /m, name);
    }
  }
});

test("a fact that a question needs is told by a figure of its chapter", () => {
  for (const { id, figures, en } of chapters) {
    const code = figures.map((name) => read(`figures/${name}.tsx`)).join("\n");
    for (const fact of factsOf(en.question)) assert.match(code, new RegExp(`\\b${fact}\\b`), `${id}: ${fact}`);
  }
});

test("words of the book are in both languages", () => {
  for (const name of readdirSync(join(folder, "words"))) {
    const code = read(`words/${name}`);
    const pairs = [...code.matchAll(/\[\s*"((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)",?\s*\]/g)];
    assert.ok(pairs.length > 0, name);
    for (const [, en, ko] of pairs) {
      assert.ok(en.trim() && ko.trim(), `${name}: ${en}`);
      assert.doesNotMatch(en + ko, /\bpieces?\b|조각/i, name);
      const places = (text: string) => [...new Set([...text.matchAll(/\{(\w+)/g)].map((match) => match[1]))].sort();
      assert.deepEqual(places(en), places(ko), `${name}: ${en}`);
    }
  }
});

test("every word of the book is used", () => {
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => /\.tsx?$/.test(name) && !name.startsWith("words"),
  );
  const code = all.map(read).join("\n");
  const parts = [...code.matchAll(/say\(`(\w+)\$\{/g)].map((match) => match[1]);
  for (const name of readdirSync(join(folder, "words")))
    for (const [, key] of read(`words/${name}`).matchAll(/^ {2}(\w+): \[/gm))
      assert.ok(new RegExp(`\\b${key}\\b`).test(code) || parts.some((part) => key.startsWith(part)), `${name}: ${key} is not used`);
});

test("formulas use elements of MathML and terms only", () => {
  const known = ["mrow", "msub", "msup", "msubsup", "munderover", "mfrac", "msqrt", "mover", "t1", "t2", "t3", "t4", "t5", "t6"];
  const check = (formula: Formula): void => {
    assert.notEqual(formula, "");
    if (typeof formula === "string") return;
    assert.ok(known.includes(formula[0] as string), String(formula[0]));
    formula.slice(1).forEach(check);
  };
  for (const chapter of chapters) chapter.formulas.forEach(check);
});

test("every view opens a screen with a model, a text and readable interventions", () => {
  for (const chapter of chapters)
    chapter.views.forEach((view, n) => {
      const address = viewAddress(book, chapter, n, trio)!;
      const [path, search] = address.split("?");
      const { screen, params } = parseAddress(path, search);
      assert.ok(SCREENS.includes(screen));
      assert.equal(screen, view.screen);
      assert.equal(params.s, book.texts[view.text]);
      assert.ok(trio.some((one) => one.name === params.m && (view.arch.length === 0 || view.arch.includes(one.arch))));
      assert.equal(decodeOps(params.w ?? "")!.length, view.ops?.length ?? 0);
      assert.doesNotMatch(JSON.stringify(decodeOps(params.w ?? "")), /\{other\}/);
      assert.deepEqual(viewOf(book, params.le), { chapter, n });
    });
  for (const le of ["", "1.1", "tokens", "tokens.0", "tokens.99", "nothing.1"]) assert.equal(viewOf(book, le), null, le);
});

const made = (views: Chapter["views"]) => ({ ...chapters[0], views });

test("without a fitting model a view cannot be opened", () => {
  const compare = made([{ arch: [], screen: "compare", text: "long" }]);
  assert.equal(viewAddress(book, compare, 0, [card("rnn")]), null);
  assert.match(viewAddress(book, compare, 0, trio)!, /ms=my%20rnn%2Cmy%20luong%2Cmy%20transformer/);
  const attention = made([{ arch: ["luong"], screen: "attention", text: "short" }]);
  assert.equal(viewAddress(book, attention, 0, [card("transformer")]), null);
  assert.equal(viewAddress(book, attention, 0, []), null);
});

test("a model of something else is shown its own examples", () => {
  const other = card("transformer", "en");
  assert.deepEqual(
    (["short", "other", "long", "new"] as const).map((which) => sentenceFor(book, other, which)),
    ["short", "not so long", "a long example here", "🎉 short"],
  );
  assert.equal(sentenceFor(book, { ...other, examples: [] }, "long"), TEXTS.long);
});

test("a figure gets the model that is asked for if it fits, else the best, else the reason", () => {
  const wanted = { arch: ["luong", "transformer"] as const };
  assert.equal(cardFor(wanted, trio), trio[2]);
  assert.equal(cardFor(wanted, trio, "my transformer"), trio[0]);
  assert.equal(cardFor(wanted, trio, "my rnn"), trio[2]);
  assert.equal(cardFor(wanted, []), "none");
  assert.equal(cardFor(wanted, [card("rnn")]), "arch");
  assert.equal(cardFor(wanted, [card("transformer", "en", "image")]), "pictures");
  assert.equal(cardFor({ ...wanted, reads: "image" }, trio), "texts");
});

test("a figure stands beside its paragraph and those that follow it", () => {
  const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((text) => ({ text }));
  const [f, g] = [
    { text: "f", figure: "one" },
    { text: "g", figure: "two" },
  ];
  assert.deepEqual(spreads([a, b, f, c, g, d, e]), [
    [a, b, f, c],
    [g, d, e],
  ]);
  assert.deepEqual(spreads([a, b]), [[a, b]]);
  assert.deepEqual(spreads([f, g]), [[f], [g]]);
});

test("facts are written as asked", () => {
  const facts = { n: 1234.5678, share: 0.256, word: "mar" };
  assert.equal(withFacts("{n} {n:1} {share:%} {word} {none}", facts), "1234.6 1234.6 26 % mar …");
});

test("numbers are read as people write them", () => {
  const cases: readonly [string, number | null][] = [
    ["0.25", 0.25],
    ["0,25", 0.25],
    [" .5 ", 0.5],
    ["−3", -3],
    ["25 %", 0.25],
    ["６４", 64],
    ["1e-3", 0.001],
    ["6E-18", 6e-18],
    ["", null],
    ["abc", null],
    ["1.2.3", null],
    ["1 or 2", null],
    ["ㅁ", null],
  ];
  for (const [text, value] of cases) assert.equal(readNumber(text), value, text);
});

const words = { ask: "How many? {all}", hint: "no", why: "yes" };

test("a number is right when it is near enough to the fact", () => {
  const question: NumberQuestion = { ...words, kind: "number", right: "x", within: 0.05 };
  assert.equal(isRight(question, 0.25, { x: 0.3 }), null); // {all} is not told yet
  assert.equal(isRight(question, 0.25, { x: 0.3, all: 1 }), true);
  assert.equal(isRight(question, 0.24, { x: 0.3, all: 1 }), false);
});

test("a choice is right by index, by a fact that is an index, or by a fact that is its text", () => {
  const question: ChoiceQuestion = { ...words, ask: "?", kind: "choice", options: ["a", "{b}"], right: 1 };
  assert.equal(rightAnswer(question, {}), null); // {b} is not told yet
  assert.equal(isRight(question, 1, { b: "x" }), true);
  assert.equal(isRight(question, 0, { b: "x" }), false);
  assert.equal(rightAnswer({ ...question, right: "which" }, { b: "x", which: 0 }), 0);
  assert.equal(rightAnswer({ ...question, right: "which" }, { b: "x", which: "x" }), 1);
  assert.equal(rightAnswer({ ...question, right: "which" }, { b: "x", which: "elsewhere" }), null);
});

test("progress survives whatever the browser has kept", () => {
  assert.deepEqual(readProgress('{"tokens": "done", "beam": "seen", "x": 3}'), { tokens: "done", beam: "seen" });
  for (const text of [null, "", "[", "3", "null", "[1]"]) assert.deepEqual(readProgress(text), {});
  const done = Object.fromEntries(chapters.map(({ id }) => [id, "done"] as const));
  assert.equal(nextOf(book, {}), chapters[0]);
  assert.equal(nextOf(book, done), null);
});
