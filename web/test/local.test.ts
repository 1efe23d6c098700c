import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { shuffled } from "../src/local/edits";
import { changes, chrf } from "../src/local/experiments";
import { loopEnd } from "../src/local/loops";
import { sha256 } from "../src/local/sha256";
import { direction, tidy } from "../src/local/text";
import { fsum } from "../src/local/translate";

test("hashes are those of node, at every length around a block", () => {
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000]) {
    const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 37) & 255);
    assert.equal(sha256(bytes), createHash("sha256").update(bytes).digest("hex"));
  }
});

test("texts are tidied as Python does it", () => {
  assert.equal(tidy("  a\t\u00a0b\x1cc\u3000 "), "a b c");
  assert.equal(tidy("e\u0301"), "é");
  assert.equal(tidy("\ufeffx"), "\ufeffx"); // no white space in Python
  assert.throws(() => tidy("a\ud800"), /lone surrogate U\+D800 at character 2/);
});

test("a text runs as its first strong character", () => {
  assert.equal(direction("123 مرحبا abc"), "rtl");
  assert.equal(direction("12 abc مرحبا"), "ltr");
  assert.equal(direction("1998-03-24"), "ltr");
});

test("shuffles are those of torch.randperm", () => {
  assert.deepEqual(shuffled(8, 0), [4, 0, 7, 3, 2, 5, 1, 6]);
  assert.deepEqual(shuffled(11, 7), [3, 0, 9, 2, 5, 8, 4, 10, 1, 7, 6]);
});

test("changes cover both sides, what they share first", () => {
  assert.deepEqual(changes([1, 2, 3, 9], [1, 2, 4, 9]), [
    { op: "equal", a: [0, 2], b: [0, 2] },
    { op: "replace", a: [2, 3], b: [2, 3] },
    { op: "equal", a: [3, 4], b: [3, 4] },
  ]);
  assert.deepEqual(changes([1, 2], [1, 2]), [{ op: "equal", a: [0, 2], b: [0, 2] }]);
  assert.deepEqual(changes([], [5]), [{ op: "insert", a: [0, 0], b: [0, 1] }]);
});

test("chrF of the same text is 100, of nothing in common 0", () => {
  assert.equal(chrf("1998-03-24", "1998-03-24"), 100);
  assert.equal(chrf("abc", "xyz"), 0);
  assert.equal(chrf("", ""), 100);
});

test("a loop of tokens is found where it is long enough", () => {
  assert.equal(loopEnd([1, 2, 3]), null);
  assert.equal(loopEnd(new Array(20).fill(7)), 12);
});

test("sums lose nothing", () => {
  assert.equal(fsum([1e16, 1, -1e16]), 1);
});
