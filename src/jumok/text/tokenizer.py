"""Text to ids and back: byte-pair pieces or characters, with bytes for everything else.

Ids: the four special pieces, 256 byte pieces, the alphabet in code point order, then merged pieces in the
order they were learned. Any text survives: decode(encode(x)) is x in NFC. What a user types is always text:
"</s>" is encoded as its characters, never as the end of the sentence.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from jumok.config import TextConfig
from jumok.errors import TokenizerFileError
from jumok.progress import Progress, silent
from jumok.text.normalize import nfc, tidy

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
BOS, PAD, EOS, UNK = range(4)
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
FIRST = len(SPECIALS) + len(BYTES)  # the first id that is learned

# A piece never crosses from letters to digits or signs, so that none can spell "</s>" or "<0xEA>".
WORDS = r" ?\p{L}[\p{L}\p{M}]*| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+"

MAX_FILE = 32 << 20
SAMPLE = 8_000_000  # bytes of text to learn from: more changes few pieces and costs memory

Merges = list[tuple[str, str]]


class Tokenizer:
    """Text to ids and back. Made by `train_tokenizer` and `parse_tokenizer` only."""

    def __init__(self, learned: Sequence[str], merges: Merges, *, words: bool) -> None:
        self._pieces = (*SPECIALS, *BYTES, *learned)
        self.merges = tuple(merges)
        self._bytes = _document(self._pieces, merges, words=words)
        self.size = len(self._pieces)
        self.fingerprint = hashlib.sha256(self._bytes).hexdigest()
        self._library = tokenizers.Tokenizer.from_str(self._bytes.decode())
        # Not stored in the file: without it a typed "</s>" would become the real end of the sentence.
        self._library.encode_special_tokens = True

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without special ids."""
        return self.encode_many([text])[0]

    def encode_many(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of each text, faster than one by one."""
        encodings = self._library.encode_batch_fast([nfc(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; special ids are dropped, bytes that are no character become U+FFFD."""
        return str(self._library.decode(list(ids), skip_special_tokens=True))

    def decode_many(self, many: Iterable[Iterable[int]]) -> list[str]:
        """`decode` of each list of ids, faster than one by one."""
        return list(self._library.decode_batch([list(ids) for ids in many], skip_special_tokens=True))

    def split(self, text: str) -> list[str]:
        """The parts of `text` that no piece crosses; a byte-pair tokenizer puts a space before the first."""
        if self._library.pre_tokenizer is None:
            return [text]
        text = self._library.normalizer.normalize_str(text)
        return [part for part, _ in self._library.pre_tokenizer.pre_tokenize_str(text)]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """One string per id to show to people: a piece with its leading space, if any; a byte as "<0xEA>"."""
        return [self._pieces[i] for i in ids]

    def to_bytes(self) -> bytes:
        """The tokenizer as a file; `parse_tokenizer` reads it."""
        return self._bytes


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both sides."""

    source: Tokenizer
    target: Tokenizer

    @property
    def shared(self) -> bool:
        """Both sides use one vocabulary."""
        return self.source.fingerprint == self.target.fingerprint

    @property
    def fingerprint(self) -> str:
        """Changes when a piece of either side changes."""
        both = f"{self.source.fingerprint} {self.target.fingerprint}"
        return self.source.fingerprint if self.shared else hashlib.sha256(both.encode()).hexdigest()

    def files(self) -> dict[str, bytes]:
        """Name and content of each file that `load_tokenizers` needs."""
        if self.shared:
            return {"tokenizer.json": self.source.to_bytes()}
        return {
            "source_tokenizer.json": self.source.to_bytes(),
            "target_tokenizer.json": self.target.to_bytes(),
        }


def train_tokenizer(lines: Iterable[str], config: TextConfig, progress: Progress = silent) -> Tokenizer:
    """A tokenizer for this text, with `config.vocabulary` pieces or fewer.

    The same text gives the same bytes. Lines are tidied first. Of a long text a part spread evenly over it
    is used, so memory stays bounded.
    """
    sample = _spread(lines, progress)
    counts: Counter[str] = Counter()
    for line in sample:
        counts.update(line)
    room = config.vocabulary - FIRST
    if config.kind == "char":
        return Tokenizer(_alphabet(counts, room, least=1), [], words=False)
    counts[" "] += 2 + len(sample)  # each line starts with one
    # At most half for single characters: many scripts must leave room for words.
    alphabet = _alphabet(counts, room // 2, least=max(2, counts.total() // 1_000_000))
    progress("learning pieces", 0, config.vocabulary)
    learned, merges = _learn_merges(sample, alphabet, room)
    progress("learning pieces", config.vocabulary, config.vocabulary)
    return Tokenizer(learned, merges, words=True)


def _spread(lines: Iterable[str], progress: Progress) -> list[str]:
    """Tidied lines of at most `SAMPLE` bytes together, evenly spaced over the text."""
    kept: list[str] = []
    size, stride, number = 0, 1, -1
    for number, line in enumerate(lines):
        if number % 10_000 == 0:
            progress("reading text for the vocabulary", number, None)
        if number % stride:
            continue
        kept.append(tidy(line))
        size += len(kept[-1].encode())
        if size > SAMPLE and len(kept) > 1:
            # Every third, not every second: sources and targets may alternate.
            kept, stride = kept[::3], stride * 3
            size = sum(len(line.encode()) for line in kept)
    progress("reading text for the vocabulary", number + 1, number + 1)
    return kept


def _alphabet(counts: Counter[str], room: int, *, least: int) -> list[str]:
    """The `room` most frequent characters seen at least `least` times, in code point order."""
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    frequent = [character for character in ranked[:room] if counts[character] >= least]
    return sorted(frequent)


def _learn_merges(sample: list[str], alphabet: list[str], room: int) -> tuple[list[str], Merges]:
    """All learned pieces in the order of their ids, and the merges that make them."""
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
    rare = {ord(character): "\n" for character in set[str]().union(*sample).difference(alphabet)}
    library.train_from_iterator((" " + line.translate(rare) for line in sample), trainer)
    model = json.loads(library.to_str())["model"]
    return sorted(model["vocab"], key=model["vocab"].get), [(left, right) for left, right in model["merges"]]


def load_tokenizers(folder: Path) -> Tokenizers:
    """The tokenizers of a model folder: one shared file, or one for each side."""
    shared = folder / "tokenizer.json"
    if shared.exists():
        tokenizer = _load(shared)
        return Tokenizers(tokenizer, tokenizer)
    return Tokenizers(_load(folder / "source_tokenizer.json"), _load(folder / "target_tokenizer.json"))


def _load(path: Path) -> Tokenizer:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except FileNotFoundError:
        raise TokenizerFileError(
            "the folder has no tokenizer",
            where=str(path),
            hint="a model folder has tokenizer.json, or source_tokenizer.json and target_tokenizer.json",
        ) from None
    except OSError as error:
        raise TokenizerFileError(f"cannot read the tokenizer: {error.strerror}", where=str(path)) from None
    return parse_tokenizer(data, str(path))


def parse_tokenizer(data: bytes, name: str) -> Tokenizer:
    """The tokenizer that `Tokenizer.to_bytes` wrote; anything else is refused. `name` is for the message.

    The library gets a document that is written anew from the checked pieces, never the bytes of the file.
    """
    try:
        learned, merges, words = _check(data)
        return Tokenizer(learned, merges, words=words)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the library's own faults are not Exceptions
        reason = str(error) or type(error).__name__
        raise TokenizerFileError(
            f"not a tokenizer of jumok: {reason}",
            where=name,
            hint="the file is damaged or was made by another program: copy the model folder again",
        ) from None


def _check(data: bytes) -> tuple[list[str], Merges, bool]:
    """Learned pieces, merges and whether text is cut into words, of a file that has our exact form."""
    _require(len(data) <= MAX_FILE, f"larger than {MAX_FILE >> 20} MiB")
    document = json.loads(data.decode("utf-8"))
    _require(isinstance(document, dict), "not a JSON object")
    model = document.get("model")
    _require(isinstance(model, dict), "no model")
    vocabulary, merges = model.get("vocab"), model.get("merges")
    _require(isinstance(vocabulary, dict), "no vocabulary")
    _require(all(type(i) is int for i in vocabulary.values()), "an id is not a number")
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    _require(
        [vocabulary[piece] for piece in pieces] == list(range(len(pieces))), "ids are missing or doubled"
    )
    _require(tuple(pieces[:FIRST]) == SPECIALS + BYTES, "special and byte pieces are not where they belong")
    _require("" not in vocabulary, "a piece is empty")
    for piece in pieces:
        piece.encode("utf-8")
    _require(isinstance(merges, list), "no merges")
    for merge in merges:
        _check_merge(merge, vocabulary)
    words = document.get("normalizer") is not None
    _require(document == _form(vocabulary, merges, words=words), "a setting differs")
    return pieces[FIRST:], [(left, right) for left, right in merges], words


def _check_merge(merge: object, vocabulary: dict[str, int]) -> None:
    _require(isinstance(merge, list) and len(merge) == 2, "a merge is not a pair")
    assert isinstance(merge, list)
    _require(all(isinstance(part, str) for part in merge), "a merge is not a pair of pieces")
    made = (merge[0], merge[1], merge[0] + merge[1])
    _require(all(vocabulary.get(part, 0) >= FIRST for part in made), f"no pieces for the merge {merge}")


def _require(holds: bool, complaint: str) -> None:  # noqa: FBT001
    if not holds:
        raise ValueError(complaint)


def _document(pieces: Sequence[str], merges: Merges, *, words: bool) -> bytes:
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    form = _form(vocabulary, [list(merge) for merge in merges], words=words)
    return json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()


def _form(vocabulary: dict[str, int], merges: list[list[str]], *, words: bool) -> dict[str, Any]:
    """The file's content: everything but the pieces is fixed.

    Words carry their leading space; the first one gets one too, and loses it when decoded.
    """
    split = {"type": "Split", "pattern": {"Regex": WORDS}, "behavior": "Isolated", "invert": False}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    decoders: list[dict[str, Any]] = [{"type": "ByteFallback"}, {"type": "Fuse"}, *([strip] if words else [])]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": i,
                "content": piece,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for i, piece in enumerate(SPECIALS)
        ],
        "normalizer": {"type": "Prepend", "prepend": " "} if words else None,
        "pre_tokenizer": split if words else None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": merges,
        },
    }
