/** A path for a class: one word of an address, and what it fixes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAddress, parseAddress } from "../src/lib/link";
import { decodePath, encodePath, MOST_STOPS, stepAddress, stepOf, stopAt, strays, type Path } from "../src/lib/teach";

const path: Path = {
  title: "수업 1",
  stops: [
    { at: "/translate?m=rnn&s=1998%EB%85%84", question: "Which <b>token</b>?", answer: "" },
    { at: "/attention?m=luong&s=x&l=1", question: "왜?", answer: "because" },
  ],
};

test("a path comes back from its word", () => {
  assert.deepEqual(decodePath(encodePath(path)), path);
  assert.match(encodePath(path), /^[\w-]+$/);
});

test("what is no path is none", () => {
  const many = { title: "", stops: Array.from({ length: MOST_STOPS + 1 }, () => path.stops[0]) };
  const foreign = { title: "", stops: [{ at: "//evil.example/translate", question: "", answer: "" }] };
  const words = ["", "!", "AAAA", btoa("[]"), btoa('["t"]'), btoa('["t",["/nonsense","",""]]'), btoa('["t",["/translate","q"]]')];
  for (const word of [...words, encodePath(many), encodePath(foreign), undefined]) assert.equal(decodePath(word), null, String(word));
});

test("a step leads to its view, with the path in the address", () => {
  const address = stepAddress(path, 1, "W");
  assert.equal(formatAddress(address), "/attention?m=luong&s=x&l=1&step=2&teach=W");
  assert.equal(stopAt(address), path.stops[1].at);
  assert.deepEqual(
    ["0", "1", "2", "9", "x", undefined].map((text) => stepOf(text, path)),
    [0, 0, 1, 1, 0, 0],
  );
});

test("model, text and screen stay; the rest can be tried", () => {
  const at = (text: string) => parseAddress(text.split("?")[0], text.split("?")[1]);
  const from = at("/attention?m=luong&s=x&teach=W&step=2");
  for (const to of ["/inside?m=luong&s=x", "/attention?m=rnn&s=x", "/attention?m=luong&s=y"])
    assert.ok(strays(from, at(`${to}&teach=W&step=2`)), to);
  assert.ok(!strays(from, at("/attention?m=luong&s=x&l=2&w=abc&teach=W&step=2")));
  assert.ok(!strays(from, at("/translate?m=rnn&s=z&teach=W&step=1")));
  assert.ok(!strays(from, at("/translate?m=rnn")), "the end of a path");
  assert.ok(!strays(at("/translate?m=rnn"), at("/inside?m=luong")), "no path");
});
