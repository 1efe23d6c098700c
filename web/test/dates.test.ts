/** Dates made on the spot: the text says the day that the answer does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dateIn, grownDates, writtenDates } from "../src/lib/dates";

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

test("dates grow, are whole, and have the answer that their text says", () => {
  const dates = grownDates(3, 4);
  assert.equal(dates.length, 20);
  assert.deepEqual([...new Set(dates.map((date) => date.words))], [3, 4, 7, 10, 16]);
  for (const { text, iso } of dates) {
    const days = [...text.matchAll(/([A-Z][a-z]+) (\d+), (\d{4})/g)].map(([whole]) => new Date(`${whole} UTC`).toISOString().slice(0, 10));
    assert.deepEqual(
      iso.split("/").map((part) => part.slice(0, 10)),
      days,
    );
    const times = [...text.matchAll(/at (\d+):(\d\d)(:\d\d)? (AM|PM)/g)].map(
      ([, hour, minute, second = "", half]) =>
        `${String((Number(hour) % 12) + (half === "PM" ? 12 : 0)).padStart(2, "0")}:${minute}${second}`,
    );
    assert.deepEqual(
      iso
        .split("/")
        .map((part) => part.slice(11))
        .filter(Boolean),
      times,
    );
    for (const [, weekday, day] of text.matchAll(/([A-Z][a-z]+day), ([A-Z][a-z]+ \d+, \d{4})/g))
      assert.equal(new Date(`${day} UTC`).toLocaleDateString("en", { weekday: "long", timeZone: "UTC" }), weekday);
  }
});

test("an example stands in the visitor's language, or in English", () => {
  assert.equal(dateIn("ko-KR"), "1998년 3월 24일 화요일");
  assert.equal(dateIn("en-GB"), "Tuesday, March 24, 1998");
  assert.equal(dateIn("DE"), "Dienstag, 24. März 1998");
  assert.equal(dateIn("tlh"), dateIn("en"));
});
