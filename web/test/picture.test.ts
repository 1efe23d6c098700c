/** Pictures and questions as sources. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { matrix } from "../src/lib/matrix";
import { isPicture, picturesSvg, rowScale } from "../src/lib/picture";
import { joinQuestion, splitQuestion } from "../src/lib/questions";
import type { Unit } from "../src/lib/tokens";

const unit = (text: string, token: number): Unit => ({ text, space: false, special: false, unknown: false, tokens: [token], bytes: 0 });

test("a picture is a data URL, and nothing else is", () => {
  assert.ok(isPicture("data:image/png;base64,AAAA"));
  for (const text of ["", " ", "cat.png", "data:text/plain,a", "5. März 2024"]) assert.ok(!isPicture(text), text);
});

test("the strongest patch has the strongest colour", () => {
  assert.deepEqual(rowScale([0.1, 0.4, 0.2], false, 1), { max: 0.4 });
  assert.deepEqual(rowScale([0.1, -0.4], true, 2), { signed: true, max: 2 });
  assert.ok(rowScale([0, 0], false, 1).max > 0);
});

test("a drawing has a picture for every token and a shape for every patch", () => {
  const image = { url: "data:image/png;base64,AAAA", rows: 2, columns: 2 };
  const svg = picturesSvg({
    title: "a < b",
    image,
    target: [unit("x", 0), unit("&", 1)],
    matrix: matrix(2, 4, Float32Array.of(1, 0, 0, 0, 0.25, 0.25, 0.25, 0.25)),
    signed: false,
    max: 1,
    dark: false,
  });
  assert.equal(svg.match(/<image /g)?.length, 2);
  assert.equal(svg.match(/fill-opacity/g)?.length, 8);
  assert.match(svg, /a &lt; b/);
  assert.match(svg, />&amp;</);
});

test("a question and its context are joined as the model reads them, and parted again", () => {
  assert.equal(joinQuestion(" who  rides ", "a man\nrides"), "␞ who rides ␟ a man rides");
  assert.equal(joinQuestion("a ␟ b", ""), "␞ a b ␟");
  for (const [question, context] of [
    ["who", "a man"],
    ["who", ""],
    ["누가 타나", "한 남자가 말을 탄다"],
  ])
    assert.deepEqual(splitQuestion(joinQuestion(question, context)), { question, context });
  assert.deepEqual(splitQuestion(" hello "), { question: "hello", context: "" });
  assert.deepEqual(splitQuestion("a ␟ b"), { question: "a ␟ b", context: "" });
});
