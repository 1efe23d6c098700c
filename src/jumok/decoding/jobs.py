"""What one call asks of a translator, checked before any work begins, and the jobs that its texts become.

A job is one sentence to search, whichever engine does it. No torch.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from jumok.config import DecodingConfig
from jumok.errors import ConfigError, nearest
from jumok.terms.glossary import Glossary, glossary_of
from jumok.text.icu import Span
from jumok.text.normalize import tidy
from jumok.text.tokenizer import Tokenizer, Tokenizers

if TYPE_CHECKING:  # who has no memory does not wait for it
    from jumok.terms.memory import TranslationMemory

T = TypeVar("T")
Long = Literal["split", "cut", "error"]
Sentences = Literal["auto", "split", "as-is"]
GlossaryMode = Literal["strict", "soft"]
Source = Sequence[int] | Sequence[bytes]
"""Ids of tokens, or the patches of a picture."""

BATCH_TOKENS = 4096
"""`batch_tokens` where nobody has chosen a number; a GPU takes more."""
CHARACTER = 4
"""Most bytes of one character in UTF-8."""
SOFT = 8.0
"""Nats that an answer loses for a soft phrase that it lacks: it must be e⁸ ≈ 3,000 times as probable."""
WIDEST = 32
"""Phrases make a beam no wider than this."""
MOST_PHRASES = 64
"""Of one sentence; as in jumok.h."""


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
    glossary: Glossary | None = None
    """Terms that are translated as it says, wherever a sentence has them."""
    glossary_mode: GlossaryMode = "strict"
    """strict: always; soft: unless the model finds an answer without far more probable."""
    long: Long | None = None
    """What happens to a source with more tokens than the model learned from; None is as in training."""
    sentences: Sentences = "auto"
    """Whether each sentence of a text is translated by itself; auto: as suits the model."""
    shortlist: bool = False
    """Only the target tokens of the model's shortlist are computed; the native engine has this."""
    protect: bool | None = None
    """Placeholders, addresses, tags, code and the like come out as they are; None: as suits the model."""
    keep: tuple[tuple[Span, ...], ...] = ()
    """Further spans of each text that come out as they are; () for none."""
    align: bool = False
    """Answers have links: which characters of the source each token of the answer was written from."""
    memory: "TranslationMemory | None" = None
    """What has been translated before: the same texts are answered from it, similar ones are shown."""
    confidence: bool = False
    """Also say how probable it is that a person would change each word, which takes a calibrated model."""
    to: str = ""
    """The language to translate into, by its code, where the model has several."""
    from_language: str = ""
    """The language that the texts are in, where it does not follow."""

    def __post_init__(self) -> None:
        if self.long not in (None, *get_args(Long)):
            raise ConfigError(f"long={self.long!r} is unknown", hint=nearest(str(self.long), get_args(Long)))
        if self.sentences not in get_args(Sentences):
            hint = nearest(str(self.sentences), get_args(Sentences))
            raise ConfigError(f"sentences={self.sentences!r} is unknown", hint=hint)
        if self.glossary_mode not in get_args(GlossaryMode):
            hint = nearest(str(self.glossary_mode), get_args(GlossaryMode))
            raise ConfigError(f"glossary_mode={self.glossary_mode!r} is unknown", hint=hint)
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

    def check_stream(self) -> None:
        """Refuse what belongs to single texts where nobody knows how many there will be."""
        for name, given in (("prefix", not isinstance(self.prefix, str)), ("keep", self.keep)):
            if given:
                what = "one prefix for all texts" if name == "prefix" else "no spans to keep"
                hint = f"translate a list to give {name} for each"
                raise ConfigError(f"a stream takes {what}", hint=hint)

    def keeps(self, count: int) -> Sequence[Sequence[Span]]:
        """The spans of each of `count` texts that come out as they are."""
        if self.keep and len(self.keep) != count:
            raise ConfigError(
                f"keep has spans for {len(self.keep)} texts, and there are {count}",
                hint="give a list of spans for each text, an empty one for none",
            )
        return self.keep or [()] * count

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
    asked["keep"] = _spans(asked.get("keep") or ())
    if asked.get("glossary") is not None:
        asked["glossary"] = glossary_of(asked["glossary"])
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


def _spans(given: Sequence[Any]) -> tuple[tuple[Span, ...], ...]:
    """Spans for each text; those of a text alone may stand without a list around them."""
    texts = [given] if given and all(is_span(one) for one in given) else given
    for spans in texts:
        for span in spans:
            if not is_span(span) or not 0 <= span[0] <= span[1]:
                raise ConfigError(
                    f"keep has {span!r}, which is no span",
                    hint="a span is two numbers: its first character, and the one behind its last",
                )
    return tuple(tuple((span[0], span[1]) for span in spans) for spans in texts)


def is_span(given: object) -> bool:
    """Whether this is a pair of numbers."""
    return isinstance(given, tuple | list) and len(given) == 2 and all(type(one) is int for one in given)


def check_texts(texts: str | Iterable[str]) -> list[str]:
    """A list of texts; anything else in it is a TypeError that says where."""
    lines = [texts] if isinstance(texts, str) else list(texts)
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise TypeError(f"text {number} is of type {type(line).__name__}, not str")
    return lines


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
class Spelling:
    """One way to write a phrase: what counts as it in an answer, and tokens that write it."""

    text: str
    """In the characters that tokens are made of (`Tokenizer.spell`)."""
    ids: tuple[int, ...]
    """None: it counts, but a search does not begin it."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A text that an answer must contain, in whichever of its spellings the search likes best."""

    spellings: tuple[Spelling, ...]
    once: bool = False
    """Exactly once; else at least once."""
    soft: bool = False
    """Wanted, not required: an answer without it is taken where the model finds it far more probable."""
    word: bool = False
    """It counts only where a word begins, and that word may go on: "file" counts in "files"."""

    @property
    def size(self) -> int:
        """Tokens of the longest spelling."""
        return max(len(spelling.ids) for spelling in self.spellings)


def make_phrase(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    also: Sequence[str] = (),
    *,
    once: bool = False,
    soft: bool = False,
    word: bool = False,
) -> Phrase:
    """The phrase of these texts, any of which will do: as they begin, behind a space, and behind a sign.

    Those of `also` count too if the model writes them of its own accord.
    """
    spellings, sign = list[Spelling](), tokenizer.encode("(")
    for text in texts:
        plain = tuple(tokenizer.encode(text))
        behind = [tokenizer.encode(f"({space}{text}") for space in (" ", "")]
        cut = [tuple(ids[len(sign) :]) for ids in behind if ids[: len(sign)] == sign]
        new = [Spelling(tokenizer.spell(text), ids) for ids in (plain, *cut) if ids]
        spellings += [one for one in dict.fromkeys(new) if one not in spellings]
    spellings += [Spelling(tokenizer.spell(text), ()) for text in also]
    return Phrase(tuple(spellings), once, soft, word)


@dataclass(frozen=True, slots=True)
class Job:
    """One source sentence, or picture, to be searched. Equal jobs have equal answers."""

    source: tuple[Any, ...]  # ids, or the bytes of patches
    prefix: tuple[int, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    opening: int = 0
    """So many first tokens of the prefix are the frame's: no part of the answer's text, and not counted."""

    @property
    def given(self) -> tuple[int, ...]:
        """All tokens that the answer may not lack."""
        spelled = (i for phrase in self.phrases for spelling in phrase.spellings for i in spelling.ids)
        return (*self.prefix, *spelled)

    def width(self, config: DecodingConfig) -> int:
        """How many hypotheses a search keeps: with phrases there is room for each token of them besides."""
        if config.draws:
            return config.draws
        tokens = sum(phrase.size for phrase in self.phrases)
        return max(config.beam, min(config.beam + tokens, WIDEST))

    def limit(self, config: DecodingConfig) -> int:
        """Most tokens of an answer, its end included.

        A bound of the sentence's own, so that its neighbours cannot change its answer; a generous one, for it
        is there to stop answers that never end.
        """
        given = len(self.prefix) - self.opening + sum(phrase.size for phrase in self.phrases)
        if given and given + CHARACTER > config.max_len:
            raise ConfigError(
                f"prefix and required texts have {given} tokens, and max_len={config.max_len} leaves no room",
                hint=f"set max_len to {given + CHARACTER} or more, or shorten them",
            )
        most = min(config.max_len, given + max(3 * len(self.source) + 30, config.min_len + 1))
        return self.opening + most


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
    return job.width(config) * (len(job.source) + 1 + job.limit(config))


def pair_size(job: Job) -> int:
    """Padded tokens of the longer side of a pair, its end included."""
    return max(len(job.source), len(job.prefix)) + 1


def token_spellings(tokenizer: Tokenizer) -> list[bytes]:
    """What each id writes into a text; special ids and tags write nothing."""
    return tokenizer.spellings()
