/** Glossaries as they are typed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseGlossary } from "../src/lib/glossary";

test("a glossary is read as it is typed", () => {
  assert.deepEqual(parseGlossary("Datei = file; Zelle=cell | box\nWriter = Writer"), {
    Datei: ["file"],
    Zelle: ["cell", "box"],
    Writer: ["Writer"],
  });
});

test("what is not whole is left out", () => {
  for (const text of ["", "Datei", "Datei =", "= file", "Datei = |", ";;"]) assert.equal(parseGlossary(text), null);
  assert.deepEqual(parseGlossary("a = b; c"), { a: ["b"] });
});

test("a term may be named like a member of every object", () => {
  assert.deepEqual(Object.keys(parseGlossary("constructor = x") ?? {}), ["constructor"]);
});
