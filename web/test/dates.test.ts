/** Dates made on the spot: the text says the day that the answer does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { writtenDates } from "../src/lib/dates";

test("year and day stand in the text, the answer is a date, and a seed gives the same again", () => {
  const dates = writtenDates(40, 5);
  assert.deepEqual(dates, writtenDates(40, 5));
  assert.equal(new Set(dates.map(({ lang }) => lang)).size, 8);
  for (const { text, iso } of dates) {
    const [year, month, day] = iso.split("-").map(Number);
    assert.equal(new Date(Date.UTC(year, month - 1, day)).toISOString().slice(0, 10), iso);
    assert.ok(text.includes(String(year)), text);
    assert.ok(new RegExp(`(^|\\D)${day}(\\D|$)`).test(text.replace(String(year), "")), text);
    assert.ok(year >= 1950 && year < 2050);
  }
});
