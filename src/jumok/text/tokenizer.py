"""Text to ids and back: byte-pair tokens, characters or words, with bytes for everything else.

Ids: the four special tokens, 256 byte tokens, the alphabet (or the words) in code point order, then merged
tokens in the order they were learned. Any text survives: decode(encode(x)) is x in NFC; of words it is x
tidied. What a user types is always text: "</s>" is encoded as its characters, never as the end of the
sentence.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from jumok.config import TextConfig
from jumok.errors import ConfigError, TokenizerFileError
from jumok.images.patches import PatchReader, parse_patches
from jumok.progress import Progress, silent
from jumok.text.alphabet import count_characters, count_words, favour_marks, most_frequent
from jumok.text.foreign_form import is_foreign, parse_foreign
from jumok.text.frame import FRAME_FILE, NO_END, PLAIN, Direction, Frame, parse_frame
from jumok.text.jamo import to_jamo
from jumok.text.marks import CONTEXT_MARK, MARKS
from jumok.text.normalize import nfc, tidy
from jumok.text.source import SourceTokenizer
from jumok.text.specials import (  # told from here, too
    BOS,
    BYTES,
    EOS,
    FIRST,
    FIRST_BYTE,
    PAD,
    SPECIALS,
    UNK,
)
from jumok.text.tokenizer_form import MAX_FILE, WORDS, TokenizerForm, parse_form

__all__ = [
    "BOS",
    "BYTES",
    "EOS",
    "FIRST",
    "FIRST_BYTE",
    "NO_WORD",
    "PAD",
    "PATCHES",
    "SAMPLE",
    "SPECIALS",
    "Tokenizer",
    "Tokenizers",
    "UNK",
    "break_words",
    "load_tokenizers",
    "parse_source",
    "parse_tokenizer",
    "spread",
    "train_tokenizer",
]

PATCHES = "source_images.json"  # in place of a source tokenizer, where sources are pictures
SAMPLE = 8_000_000  # bytes of text to learn from: more changes few tokens and costs memory
NO_WORD = 256  # characters: each merge walks through every word that it changes, so one of these holds all up


class Tokenizer:
    """Text to ids and back. Made by `train_tokenizer` and `parse_tokenizer` only."""

    def __init__(self, form: TokenizerForm) -> None:
        self.form, self._pieces = form, form.pieces
        self.merges, self.kind, self.jamo = form.merges, form.kind, form.jamo
        self._bytes = form.to_bytes()
        self.size = len(self._pieces)
        self.tags = range(self.size - len(form.tags), self.size)
        self.fingerprint = hashlib.sha256(self._bytes).hexdigest()
        self._library = tokenizers.Tokenizer.from_str(form.library_bytes().decode())
        # Not stored in the file: without it a typed "</s>" would become the real end of the sentence.
        self._library.encode_special_tokens = True

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without special ids."""
        return self.encode_many([text])[0]

    def encode_many(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of each text, faster than one by one."""
        return self.encode_tidied(map(tidy if self.kind == "word" else nfc, texts))

    def encode_tidied(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of each text, which is tidy already."""
        spelled = list(map(to_jamo, texts) if self.jamo else texts)
        return [one.ids for one in self._library.encode_batch_fast(spelled, add_special_tokens=False)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; special ids are dropped, bytes that are no character become U+FFFD."""
        return self.decode_many([ids])[0]

    def decode_many(self, many: Iterable[Iterable[int]]) -> list[str]:
        """`decode` of each list of ids, faster than one by one."""
        texts = self._library.decode_batch([list(ids) for ids in many], skip_special_tokens=True)
        return list(map(nfc, texts)) if self.jamo else list(texts)

    def spell(self, text: str) -> str:
        """`text` in the characters that tokens are made of."""
        text = tidy(text) if self.kind == "word" else nfc(text)
        return to_jamo(text) if self.jamo else text

    def split(self, text: str) -> list[str]:
        """The parts of a spelled text that no token crosses; but for characters, a space is put before it."""
        if self._library.pre_tokenizer is None:
            return [text]
        text = self._library.normalizer.normalize_str(text)
        return [part for part, _ in self._library.pre_tokenizer.pre_tokenize_str(text)]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """One string per id to show to people: a token with its leading space, if any; a byte as "<0xEA>"."""
        return [self._pieces[i] for i in ids]

    def token_id(self, name: str) -> int | None:
        """The id of the token with this name, such as "</s>"; None where there is none."""
        return self._library.token_to_id(name)

    def with_tags(self, names: Sequence[str]) -> "Tokenizer":
        """The same tokenizer with more tokens that no text has, behind all others."""
        return Tokenizer(replace(self.form, tags=(*self.form.tags, *names)))

    def spellings(self) -> list[bytes]:
        """What each id writes into a text; special ids and tags write nothing."""
        learned = self._pieces[FIRST : self.tags.start]
        written = (*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in learned))
        return [*(b"" for _ in SPECIALS), *written, *(b"" for _ in self.tags)]

    def offsets(self, text: str) -> list[tuple[int, int]] | None:
        """The characters of a tidy text that each of its tokens stands for; None: those that they write."""
        return None

    def sides(self) -> "tuple[Tokenizer, Tokenizer]":
        """The tokenizers of source and target where both have this vocabulary: one, or two ways to cut."""
        return self, self

    @property
    def has_marks(self) -> bool:
        """Whether each mark for a protected span is a token."""
        return all(self._library.token_to_id(mark) is not None for mark in MARKS)

    def to_bytes(self) -> bytes:
        """The tokenizer as a file; `parse_tokenizer` reads it."""
        return self._bytes


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both sides; where the source is a picture, `source` cuts it into patches."""

    source: SourceTokenizer
    target: Tokenizer
    frame: Frame = PLAIN
    """What stands around the ids of a sentence."""
    direction: Direction = Direction()
    """Which of the frame's directions is meant; `towards` chooses one."""

    def towards(self, direction: Direction) -> "Tokenizers":
        """The same tokenizers for one of the directions."""
        return replace(self, direction=direction)

    def framed(self, ids: Sequence[Any]) -> tuple[Any, ...]:
        """The ids of a source with what stands around them, but for an end that would be the last."""
        if self.frame == PLAIN:
            return tuple(ids)
        names = self.frame.sources(self.direction)
        place = self.frame.before
        behind = names[place + 1 :] if self.frame.closes else names[place + 1 : -1]
        none = (NO_END,) if self.frame.endless else ()
        return (
            *self._ids(self.text_source, names[:place]),
            *ids,
            *self._ids(self.text_source, behind),
            *none,
        )

    def bare(self, ids: Sequence[Any]) -> tuple[Any, ...]:
        """The ids of a source without what stands around them: `framed` undone."""
        before, behind = self.frame.around
        return tuple(ids[before : len(ids) - behind - self.frame.closes - self.frame.endless])

    @property
    def opening(self) -> tuple[int, ...]:
        """The ids that an answer begins with, before those of its text."""
        return self._ids(self.target, self.frame.targets(self.direction))

    @staticmethod
    def _ids(tokenizer: Tokenizer, names: Sequence[str]) -> tuple[int, ...]:
        found = [(name, tokenizer.token_id(name)) for name in names]
        for name, i in found:
            if i is None:
                raise TokenizerFileError(f"the frame names {name!r}, which is no token", where=FRAME_FILE)
        return tuple(i for _, i in found if i is not None)

    @property
    def pictures(self) -> PatchReader | None:
        """What reads the source if it is a picture."""
        return self.source if isinstance(self.source, PatchReader) else None

    @property
    def text_source(self) -> Tokenizer:
        """The tokenizer of a source that is text."""
        if not isinstance(self.source, Tokenizer):
            raise ConfigError("this needs a model that reads text, and this one reads pictures")
        return self.source

    def tidy_source(self, text: str) -> str:
        """A source as it is encoded; the name of a picture keeps its own spelling."""
        return tidy(text) if self.pictures is None else text.strip()

    @property
    def reads_context(self) -> bool:
        """The mark before a context is a token of its own: the model answers questions about one."""
        if isinstance(self.source, PatchReader):
            return False
        pieces = self.source.pieces(self.source.encode(f"a {CONTEXT_MARK} a"))
        return CONTEXT_MARK in (piece.strip() for piece in pieces)

    @property
    def source_info(self) -> dict[str, Any]:
        """What a source is: text, or a picture of some size."""
        reader = self.pictures
        if reader is None:
            return {"source": "text"}
        return {"source": "image", "image": {"size": reader.side, "patch": reader.patch}}

    @property
    def have_marks(self) -> bool:
        """Each mark for a protected span is a token of both sides."""
        return self.pictures is None and self.text_source.has_marks and self.target.has_marks

    @property
    def blank_source(self) -> str:
        """The simplest source that the model reads: a figure, or a white picture."""
        reader = self.pictures
        return "1" if reader is None else reader.decode([b"\xff" * reader.numbers])

    @property
    def shared(self) -> bool:
        """Both sides use one vocabulary."""
        return self.source.fingerprint == self.target.fingerprint

    @property
    def fingerprint(self) -> str:
        """Changes when a token of either side changes."""
        both = f"{self.source.fingerprint} {self.target.fingerprint}"
        plain = self.source.fingerprint if self.shared else hashlib.sha256(both.encode()).hexdigest()
        if self.frame == PLAIN:
            return plain
        return hashlib.sha256(plain.encode() + self.frame.to_bytes()).hexdigest()

    def files(self) -> dict[str, bytes]:
        """Name and content of each file that `load_tokenizers` needs."""
        frame = {} if self.frame == PLAIN else {FRAME_FILE: self.frame.to_bytes()}
        if self.shared:
            return {"tokenizer.json": self.source.to_bytes(), **frame}
        name = "source_tokenizer.json" if self.pictures is None else PATCHES
        return {
            **frame,
            name: self.source.to_bytes(),
            "target_tokenizer.json": self.target.to_bytes(),
        }


def train_tokenizer(lines: Iterable[str], config: TextConfig, progress: Progress = silent) -> Tokenizer:
    """A tokenizer for this text, with `config.vocabulary` tokens or fewer.

    The same text gives the same bytes. Lines are tidy already. Of a long text a part spread evenly over it
    is used, so memory stays bounded.
    """
    sample = spread(lines, progress)
    if config.jamo:
        sample = list(map(to_jamo, sample))
    counts = count_characters(sample) if config.kind != "word" else count_words(sample)
    seen = set(counts)
    favour_marks(counts, config)
    room = config.vocabulary - FIRST
    if config.kind != "bpe":
        if config.kind == "word":
            counts[" "] = counts.total() + 1  # begins what is written in bytes
        learned = tuple(most_frequent(counts, room, least=1))
        return Tokenizer(TokenizerForm(learned, (), config.kind, config.jamo))
    counts[" "] += 2 + len(sample)  # each line starts with one
    # At most half for single characters: many scripts must leave room for words.
    alphabet = most_frequent(counts, room // 2, least=max(2, counts.total() // 1_000_000))
    progress("learning tokens", 0, config.vocabulary)
    form = _learn_merges(sample, seen, alphabet, room)
    progress("learning tokens", config.vocabulary, config.vocabulary)
    return Tokenizer(replace(form, jamo=config.jamo))


def spread(lines: Iterable[str], progress: Progress) -> list[str]:
    """Lines of at most `SAMPLE` bytes together, evenly spaced over the text."""
    kept: list[str] = []
    size, stride, number = 0, 1, -1
    for number, line in enumerate(lines):
        if number % 10_000 == 0:
            progress("reading text for the vocabulary", number, None)
        if number % stride:
            continue
        kept.append(line)
        size += len(line.encode())
        if size > SAMPLE and len(kept) > 1:
            # Every third, not every second: sources and targets may alternate.
            kept, stride = kept[::3], stride * 3
            size = sum(len(line.encode()) for line in kept)
    progress("reading text for the vocabulary", number + 1, number + 1)
    return kept


def _learn_merges(sample: list[str], seen: set[str], alphabet: list[str], room: int) -> TokenizerForm:
    """All learned tokens in the order of their ids, and the merges that make them."""
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(WORDS), "isolated")
    trainer = trainers.BpeTrainer(
        vocab_size=room,
        min_frequency=2,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    # The trainer skips characters outside the alphabet and would join their neighbours: break the word there.
    rare = {ord(character): "\n" for character in seen.difference(alphabet)}
    library.train_from_iterator((" " + break_words(line).translate(rare) for line in sample), trainer)
    model = json.loads(library.to_str())["model"]
    learned = tuple(sorted(model["vocab"], key=model["vocab"].get))
    return TokenizerForm(learned, tuple((left, right) for left, right in model["merges"]), "bpe")


def break_words(line: str) -> str:
    """The line with a break in every word that is too long to learn from as one."""
    return re.sub(rf"\S{{{NO_WORD}}}(?=\S)", "\\g<0>\n", line) if len(line) > NO_WORD else line


def load_tokenizers(folder: Path) -> Tokenizers:
    """The tokenizers of a model folder: one shared file, or one for each side, and its frame, if any."""
    shared, framed = folder / "tokenizer.json", folder / FRAME_FILE
    frame = parse_frame(_read(framed), str(framed)) if framed.exists() else PLAIN
    if shared.exists():
        return Tokenizers(*_load(shared).sides(), frame)
    source = folder / (PATCHES if (folder / PATCHES).exists() else "source_tokenizer.json")
    return Tokenizers(
        parse_source(_read(source), str(source)), _load(folder / "target_tokenizer.json"), frame
    )


def _load(path: Path) -> Tokenizer:
    return parse_tokenizer(_read(path), str(path))


def parse_source(data: bytes, name: str) -> SourceTokenizer:
    """What reads the sources, from the content of its file; the file's name tells text from pictures."""
    return parse_patches(data, name) if name.endswith(PATCHES) else parse_tokenizer(data, name)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE + 1)
    except FileNotFoundError:
        raise TokenizerFileError(
            "the folder has no tokenizer",
            where=str(path),
            hint="a model folder has tokenizer.json, or source_tokenizer.json and target_tokenizer.json",
        ) from None
    except OSError as error:
        raise TokenizerFileError(f"cannot read the tokenizer: {error.strerror}", where=str(path)) from None


def parse_tokenizer(data: bytes, name: str) -> Tokenizer:
    """The tokenizer that `Tokenizer.to_bytes` wrote; anything else is refused. `name` is for the message.

    The library gets a document that is written anew from the checked tokens, never the bytes of the file.
    """
    try:
        if is_foreign(data) and len(data) <= MAX_FILE:
            from jumok.text.foreign import ForeignTokenizer  # which inherits from what is here

            return ForeignTokenizer(parse_foreign(data))
        return Tokenizer(parse_form(data))
    except (KeyboardInterrupt, SystemExit, ConfigError):
        raise
    except BaseException as error:  # the library's own faults are not Exceptions
        reason = str(error) or type(error).__name__
        raise TokenizerFileError(
            f"not a tokenizer of jumok: {reason}",
            where=name,
            hint="the file is damaged or was made by another program: copy the model folder again",
        ) from None
