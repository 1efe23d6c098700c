"""What one call asks of a translator, checked before any work begins, and the jobs that its texts become.

A job is one sentence to search, whichever engine does it. No torch.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar, get_args

from jumok.config import DecodingConfig
from jumok.errors import ConfigError, LimitError, nearest
from jumok.text.beginning import beginning
from jumok.text.marks import is_question
from jumok.text.normalize import tidy
from jumok.text.tokenizer import FIRST, FIRST_BYTE, Tokenizer, Tokenizers

T = TypeVar("T")
Long = Literal["split", "cut", "error"]
Source = Sequence[int] | Sequence[bytes]
"""Ids of tokens, or the patches of a picture."""

BATCH_TOKENS = 4096
"""`batch_tokens` where nobody has chosen a number; a GPU takes more."""
SENTENCE_END = re.compile(r"(?<=[.!?…]) |(?<=[。！？｡])")
CHARACTER = 4
"""Most bytes of one character in UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of one call. Texts are tidied."""

    decoding: DecodingConfig
    prefix: str | tuple[str, ...] = ""
    """What answers begin with: one text for all, or one for each."""
    ban: tuple[str, ...] = ()
    """Texts that appear in no answer, not even inside a word."""
    require: tuple[str, ...] = ()
    """Texts that appear in every answer."""
    long: Long | None = None
    """What happens to a source with more tokens than the model learned from; None is as in training."""
    shortlist: bool = False
    """Only the target tokens of the model's shortlist are computed; the native engine has this."""

    def __post_init__(self) -> None:
        if self.long not in (None, *get_args(Long)):
            raise ConfigError(f"long={self.long!r} is unknown", hint=nearest(str(self.long), get_args(Long)))
        for name in ("ban", "require"):
            if not all(getattr(self, name)):
                raise ConfigError(f"{name} has an empty text", hint="give at least one character")
        prefixes = (self.prefix,) if isinstance(self.prefix, str) else self.prefix
        for banned in self.ban:
            for name, text in [("require", text) for text in self.require] + [
                ("prefix", p) for p in prefixes
            ]:
                if banned in text:
                    raise ConfigError(
                        f"ban={banned!r} and {name}={text!r} cannot both be kept",
                        hint="take the text out of one of them",
                    )

    def prefixes(self, count: int) -> list[str]:
        """The prefix of each of `count` texts."""
        if isinstance(self.prefix, str):
            return [self.prefix] * count
        if len(self.prefix) != count:
            raise ConfigError(
                f"there are {len(self.prefix)} prefixes for {count} texts",
                hint="give one prefix for all texts, or a list with one for each",
            )
        return list(self.prefix)


def make_request(defaults: DecodingConfig, options: Mapping[str, Any]) -> Request:
    """Options by name over a model's defaults; an unknown name is a TypeError that offers the nearest one."""
    decoding = {field.name for field in fields(DecodingConfig)}
    own = {field.name for field in fields(Request)} - {"decoding"}
    for name in options:
        if name not in decoding | own:
            raise TypeError(f"unknown option {name!r}; {nearest(name, decoding | own)}")
    given = {name: value for name, value in options.items() if name in decoding}
    chosen = replace(defaults, **one_way(defaults, given))
    asked = {name: value for name, value in options.items() if name in own}
    for name in ("ban", "require"):
        asked[name] = _texts(asked.get(name, ()))
    prefix = asked.get("prefix") or ""
    asked["prefix"] = tidy(prefix) if isinstance(prefix, str) else _texts(prefix)
    return Request(decoding=chosen, **asked)


def one_way(defaults: DecodingConfig, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the other ways to find an answer put aside, where they name one.

    A model's folder may say `sample` or `mbr`; a call that names a beam has it searched all the same. It gets
    as many answers as the folder says, or as many as there are.
    """
    asked = [name for name in ("beam", "sample", "mbr") if given.get(name)]
    if "mbr" in asked and len(asked) > 1:
        raise ConfigError(
            f"{asked[0]} and mbr cannot be had together",
            hint=f"mbr draws its answers by itself: leave out mbr or {asked[0]}",
        )
    aside: dict[str, Any] = {"sample": False, "mbr": 0} if asked else {}
    width = given.get("mbr") or given.get("beam")
    if isinstance(width, int) and not given.get("sample"):
        aside["n_best"] = max(1, min(defaults.n_best, width))
    return {**aside, **given}


def _texts(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return tuple(map(tidy, [given] if isinstance(given, str) else given or ()))


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source as a model reads it. Whoever hands it on, instead of its text, spares the tokenizer."""

    given: str
    text: str
    """Tidied; blank where there is nothing to read."""
    ids: tuple[Any, ...]
    """All of them, however many the model takes; of a picture, its patches."""


def read_sources(texts: Iterable[str | SourceText], tokenizers: Tokenizers) -> list[SourceText]:
    """Each text tidied and tokenised; what was read before stays as it is."""
    given = list(texts)
    new = [one for one in given if isinstance(one, str)]
    lines = list(map(tokenizers.tidy_source, new))
    ids = map(tuple, tokenizers.source.encode_many(lines) if new else [])
    read = iter([SourceText(*parts) for parts in zip(new, lines, ids, strict=True)])
    return [next(read) if isinstance(one, str) else one for one in given]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A text that an answer must contain, and the tokens that write it."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One source sentence, or picture, to be searched. Equal jobs have equal answers."""

    source: tuple[Any, ...]  # ids, or the bytes of patches
    prefix: tuple[int, ...] = ()
    phrases: tuple[Phrase, ...] = ()

    def limit(self, config: DecodingConfig) -> int:
        """Most tokens of an answer, its end included.

        A bound of the sentence's own, so that its neighbours cannot change its answer; a generous one, for it
        is there to stop answers that never end.
        """
        given = len(self.prefix) + sum(len(phrase.ids) for phrase in self.phrases)
        if given and given + CHARACTER > config.max_len:
            raise ConfigError(
                f"prefix and required texts have {given} tokens, and max_len={config.max_len} leaves no room",
                hint=f"set max_len to {given + CHARACTER} or more, or shorten them",
            )
        return min(config.max_len, given + max(3 * len(self.source) + 30, config.min_len + 1))


def make_jobs(
    sources: Sequence[SourceText], request: Request, tokenizers: Tokenizers, max_length: int, before: int = 0
) -> list[list[Job]]:
    """The jobs of each source: none for a blank one, several for one that is split.

    A prefix goes to the first part and required texts to the last. `before` sources come before these.
    """
    write = tokenizers.target.encode
    whole = tokenizers.pictures is not None  # a picture has as many patches as the model takes
    phrases = tuple(Phrase(tokenizers.target.spell(text), tuple(write(text))) for text in request.require)
    prefixes = [tuple(write(prefix)) if prefix else () for prefix in request.prefixes(len(sources))]
    jobs = []
    for i, source in enumerate(sources):
        parts: Sequence[Sequence[Any]] = []
        if source.text and whole:
            parts = [source.ids]
        elif source.text:
            long, tokenizer = request.long or "split", tokenizers.text_source
            parts = cut_line(source.text, list(source.ids), long, tokenizer, max_length, before + i + 1)
        last = len(parts) - 1
        jobs.append(
            [
                Job(tuple(part), prefixes[i] if n == 0 else (), phrases if n == last else ())
                for n, part in enumerate(parts)
            ]
        )
    return jobs


def cut_line(
    line: str, ids: list[int], long: Long, tokenizer: Tokenizer, most: int, number: int
) -> list[list[int]]:
    """The ids of one line, in parts of at most `most` that a model can take."""
    if len(ids) <= most:
        return [ids]
    match long:
        case "cut":
            return [list(beginning(ids, most))]
        case "split" if not is_question(line):
            return tokenizer.encode_many(split_text(line, lambda part: len(tokenizer.encode(part)) <= most))
        case _:
            hint = 'long="split" translates it in parts, long="cut" only its beginning'
            raise LimitError(
                f"text {number} has {len(ids):,} tokens, and this model takes {most:,}",
                hint='long="cut" reads only the beginning of the context' if is_question(line) else hint,
                code="too_long",
            )


def split_text(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Parts of a tidied text that each fit: cut in two at the sentence end nearest to the middle, and again.

    Where there is no sentence end a space is taken, and where there is none of those the middle itself.
    """
    waiting, parts = [text], []
    while waiting:
        part = waiting.pop()
        if len(part) <= 1 or fits(part):
            parts.append(part)
        else:
            cut = _nearest_cut(part)
            waiting += [part[cut:].strip(), part[:cut].strip()]  # the first half is taken next
    return parts


def _nearest_cut(text: str) -> int:
    """Where to cut a text of two or more characters, so that neither side is empty."""
    middle = len(text) // 2
    for pattern in (SENTENCE_END, re.compile(" ")):
        places = [match.end() for match in pattern.finditer(text) if match.end() < len(text)]
        if places:
            return min(places, key=lambda place: abs(place - middle))
    return middle


def batches(items: Iterable[T], budget: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """Items of similar size, largest first; rows times the largest size stay within the budget.

    An item that is larger than the budget is a batch of its own.
    """
    batch: list[T] = []
    for item in sorted(items, key=size, reverse=True):
        if batch and (len(batch) + 1) * size(batch[0]) > budget:
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


def cost(job: Job, config: DecodingConfig) -> int:
    """The most places that a search can take up in a running batch: rows times source and new tokens."""
    return (config.draws or config.beam) * (len(job.source) + 1 + job.limit(config))


def pair_size(job: Job) -> int:
    """Padded tokens of the longer side of a pair, its end included."""
    return max(len(job.source), len(job.prefix)) + 1


def token_spellings(tokenizer: Tokenizer) -> list[bytes]:
    """What each id writes into a text; special ids write nothing."""
    specials = [b""] * FIRST_BYTE
    learned = tokenizer.pieces(range(FIRST, tokenizer.size))
    return [*specials, *(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in learned)]
