"""Make the built-in data set `dates`: written dates in 20 languages and what they are in ISO 8601.

The wording (month and weekday names, order, punctuation) comes from Babel's copy of the Unicode CLDR; only
the few words that join a date with a time, or two dates, are written here. Pair number n is a pure function
of n, so the same lines can be made again with the Babel release named below:

    python scripts/make_dates.py src/jumok/data/sets/dates

Every target follows from its source alone: four-digit years, no month-first numbers, weekdays that are right.
"""

import gzip
import io
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import count, islice
from pathlib import Path
from random import Random

from babel import Locale
from babel.dates import format_date, format_time

BABEL = "2.18"  # other releases carry other CLDR data and so make other files
SEED = "dates/1"
FIRST = datetime(1900, 1, 1)
DAYS = 73_000  # up to 2099
SIZES = {"test": 2_000, "valid": 1_000, "train": 48_000}  # in the order of the pair numbers


@dataclass(frozen=True, slots=True)
class Wording:
    """How a language joins a date and a time (clock pattern, then the joint), and the two ends of a span."""

    clock: str
    clock_seconds: str
    at: str
    span: str


# Where from/to would inflect the weekday, the span is written as two labelled ends.
WORDINGS = {
    "en": Wording("h:mm a", "h:mm:ss a", "{date} at {time}", "from {start} to {end}"),
    "de": Wording("H:mm", "H:mm:ss", "{date} um {time} Uhr", "von {start} bis {end}"),
    "fr": Wording("HH:mm", "HH:mm:ss", "{date} à {time}", "du {start} au {end}"),
    "es": Wording("H:mm", "H:mm:ss", "{date} a las {time}", "desde el {start} hasta el {end}"),
    "it": Wording("HH:mm", "HH:mm:ss", "{date} alle ore {time}", "da {start} a {end}"),
    "pt": Wording("HH:mm", "HH:mm:ss", "{date} às {time}", "de {start} até {end}"),
    "nl": Wording("HH:mm", "HH:mm:ss", "{date} om {time}", "van {start} tot {end}"),
    "sv": Wording("HH:mm", "HH:mm:ss", "{date} kl. {time}", "från {start} till {end}"),
    "pl": Wording("HH:mm", "HH:mm:ss", "{date}, godz. {time}", "początek: {start}, koniec: {end}"),
    "cs": Wording("H:mm", "H:mm:ss", "{date} v {time}", "začátek: {start}, konec: {end}"),
    "ru": Wording("HH:mm", "HH:mm:ss", "{date} в {time}", "начало: {start}, конец: {end}"),
    "uk": Wording("HH:mm", "HH:mm:ss", "{date} о {time}", "початок: {start}, кінець: {end}"),
    "el": Wording("h:mm a", "h:mm:ss a", "{date} στις {time}", "έναρξη: {start}, λήξη: {end}"),
    "tr": Wording("HH:mm", "HH:mm:ss", "{date} saat {time}", "başlangıç: {start}, bitiş: {end}"),
    "fi": Wording("H.mm", "H.mm.ss", "{date} klo {time}", "alkaa: {start}, päättyy: {end}"),
    "id": Wording("HH.mm", "HH.mm.ss", "{date} pukul {time}", "dari {start} sampai {end}"),
    "vi": Wording("HH:mm", "HH:mm:ss", "{time} {date}", "từ {start} đến {end}"),
    "ko": Wording("aaaa h시 m분", "aaaa h시 m분 s초", "{date} {time}", "{start}부터 {end}까지"),
    "ja": Wording("H時mm分", "H時mm分ss秒", "{date} {time}", "{start}から{end}まで"),
    "zh": Wording("HH:mm", "HH:mm:ss", "{date} {time}", "从{start}到{end}"),
}
LANGUAGES = tuple(WORDINGS)

# kind of source -> how often; each names its date style, its clock and whether it has two ends
KINDS = {
    ("numeric", "none", "one"): 7,
    ("medium", "none", "one"): 8,
    ("long", "none", "one"): 9,
    ("full", "none", "one"): 9,
    ("medium", "minutes", "one"): 4,
    ("long", "minutes", "one"): 6,
    ("full", "seconds", "one"): 9,
    ("medium", "none", "two"): 4,
    ("long", "none", "two"): 5,
    ("full", "none", "two"): 13,
    ("full", "minutes", "two"): 9,
    ("full", "seconds", "two"): 17,
}
ISO_FORMAT = {"none": "%Y-%m-%d", "minutes": "%Y-%m-%dT%H:%M", "seconds": "%Y-%m-%dT%H:%M:%S"}


def language_of(number: int) -> str:
    """Languages take turns."""
    return LANGUAGES[number % len(LANGUAGES)]


@cache
def date_pattern(language: str, style: str) -> str:
    """CLDR pattern: numeric 5.4.2024, medium 5. Apr. 2024, long 5. April 2024, full with the weekday."""
    locale = Locale.parse(language)
    if style == "numeric":
        return str(locale.datetime_skeletons["yMd"].pattern)
    if style == "medium":
        return str(locale.datetime_skeletons["yMMMd"].pattern)
    return str(locale.date_formats[style].pattern)


def written(moment: datetime, language: str, style: str, clock: str) -> str:
    """One moment in words, without a clock time or with minutes or seconds."""
    # English puts the month first in numbers, Swedish numbers are ISO already: both write the month's name.
    if style == "numeric" and language in ("en", "sv"):
        style = "medium"
    date = format_date(moment, date_pattern(language, style), locale=language)
    if clock == "none":
        return date
    wording = WORDINGS[language]
    pattern = wording.clock if clock == "minutes" else wording.clock_seconds
    return wording.at.format(date=date, time=format_time(moment, pattern, locale=language))


def span_template(language: str, style: str) -> str:
    """Two full dates are joined by words, shorter ones by the locale's dash."""
    if style == "full":
        return WORDINGS[language].span
    dash: str = Locale.parse(language).interval_formats[None]
    return dash.replace("{0}", "{start}").replace("{1}", "{end}")


def tidy(text: str) -> str:
    """NFC with single spaces: CLDR writes many kinds of space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def pair(number: int) -> tuple[str, str]:
    """Source and target number `number`; the same for ever."""
    random = Random(f"{SEED}:{number}")
    language = language_of(number)
    style, clock, ends = random.choices(list(KINDS), weights=list(KINDS.values()))[0]
    start = FIRST + timedelta(days=random.randrange(DAYS), seconds=random.randrange(86_400))
    iso = ISO_FORMAT[clock]
    if ends == "one":
        return tidy(written(start, language, style, clock)), start.strftime(iso)
    end = start + timedelta(days=random.randrange(1, 400))
    end = end.replace(hour=random.randrange(24), minute=random.randrange(60), second=random.randrange(60))
    source = span_template(language, style).format(
        start=written(start, language, style, clock), end=written(end, language, style, clock)
    )
    return tidy(source), f"{start.strftime(iso)}/{end.strftime(iso)}"


def distinct_pairs() -> Iterator[tuple[str, str]]:
    """Pairs without end, in order, less those whose source came before; a source never has two targets."""
    targets: dict[str, str] = {}
    for number in count():
        source, target = pair(number)
        if source not in targets:
            targets[source] = target
            yield source, target
        elif targets[source] != target:
            raise ValueError(f"{source!r} means {target} and {targets[source]}")


def compressed(lines: list[str]) -> bytes:
    """Gzip without a time or a name inside, so that equal lines are equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=buffer) as stream:
        stream.write("".join(line + "\n" for line in lines).encode())
    return buffer.getvalue()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pairs = distinct_pairs()
    for split, size in SIZES.items():
        data = compressed([f"{source}\t{target}" for source, target in islice(pairs, size)])
        (folder / f"{split}.tsv.gz").write_bytes(data)
        print(f"{split:5} {size:6,} pairs {len(data):9,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "src/jumok/data/sets/dates"))
