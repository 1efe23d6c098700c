"""The ctranslate2 engine: a folder that `jumok export ctranslate2` made, run by CTranslate2. No torch.

It cannot be told which bytes make a character, nor our length penalty: all answers of its beam are scored
once more, broken ones go, and ours is the order.
"""

from collections import defaultdict
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jumok.answers import Answer, ranked
from jumok.checkpoint.contents import Contents, read_contents
from jumok.config import DecodingConfig
from jumok.decoding.engines import Answers, Explained, Scores, cannot, first_lack
from jumok.decoding.jobs import Job
from jumok.decoding.native_engine import chunks
from jumok.decoding.request import Request
from jumok.errors import ConfigError, ModelError
from jumok.native.library import thread_count
from jumok.native.shortlist import NO_TEXT
from jumok.text.tokenizer import BOS, EOS, FIRST_BYTE, PAD, UNK

SETTINGS = "jumok.json"
"""Our settings in an exported folder, where config.json is CTranslate2's."""
NEVER = (BOS, PAD, UNK, *(FIRST_BYTE + byte for byte in NO_TEXT))
HIGH = tuple(range(FIRST_BYTE + 0x80, FIRST_BYTE + 0x100))
"""Bytes that are a part of a character."""


def is_exported(path: str | Path) -> bool:
    """Whether this is a folder for CTranslate2."""
    return (Path(path) / SETTINGS).is_file() and (Path(path) / "model.bin").is_file()


def open_exported(folder: Path) -> "tuple[Contents, CTranslate2Engine]":
    """The settings and tokenizers of an exported folder, and its model in CTranslate2."""
    if find_spec("ctranslate2") is None:
        raise ConfigError(
            "the ctranslate2 engine needs the package ctranslate2",
            hint="pip install 'jumok[ct2]'",
            code="extra_missing",
        )
    if not is_exported(folder):
        raise ModelError(
            f"{folder} is no folder for ctranslate2",
            hint=f"make one: jumok export ctranslate2 -m {folder} -o FOLDER",
            code="not_exported",
        )
    contents = read_contents(folder, SETTINGS)
    source, target = contents.tokenizers.text_source, contents.tokenizers.target
    names = source.pieces(range(source.size)), target.pieces(range(target.size))
    return contents, CTranslate2Engine(folder, *names)


class CTranslate2Engine:
    """Answers through `ctranslate2.Translator`, which uses one thread for each sentence at work.

    `source` and `target` are the names of the pieces in its vocabularies, in the order of their ids.
    """

    name = "ctranslate2"

    def __init__(self, folder: Path, source: Sequence[str], target: Sequence[str]) -> None:
        import ctranslate2

        self._source, self._target = source, target
        self._ids = {piece: i for i, piece in enumerate(self._target)}
        try:
            self._translator: Any = ctranslate2.Translator(
                str(folder), inter_threads=thread_count(), intra_threads=1
            )
        except RuntimeError as error:
            raise ModelError(
                f"ctranslate2 cannot open the model: {error}", where=str(folder), hint="export it again"
            ) from None

    @property
    def about(self) -> dict[str, str]:
        return {"name": self.name, "type": str(self._translator.compute_type), "level": "its own"}

    def lacks(self, request: Request) -> str:
        return "shortlist" if request.shortlist else first_lack(request)

    def answers(self, jobs: Sequence[Job], request: Request, explained: Explained) -> Answers:
        config = request.decoding
        for chunk in chunks(jobs):
            alike = defaultdict[int, list[Job]](list)  # a call has one limit
            for job in chunk:
                alike[job.limit(config)].append(job)
            for limit, batch in alike.items():
                with explained(batch):
                    found = self.search(batch, limit, config)
                yield batch, found

    def scores(self, jobs: Sequence[Job], budget: int, explained: Explained) -> Scores:
        for batch in chunks(jobs):
            with explained(batch):
                found = self._score(batch, [job.prefix for job in batch])
            yield batch, found

    def to_torch(self) -> Any:
        raise cannot(self.name, "weights for torch")

    def search(self, jobs: Sequence[Job], limit: int, config: DecodingConfig) -> list[list[Answer]]:
        """The answers to each job, best first, of at most `limit` tokens."""
        found = self._beams(jobs, limit, config, ())
        broken = [i for i, several in enumerate(found) if any(map(is_broken, several))]
        if broken:  # a second try without the bytes of which some made no character
            again = self._beams([jobs[i] for i in broken], limit, config, HIGH)
            for i, several in zip(broken, again, strict=True):
                found[i] = [ids for ids in found[i] if not is_broken(ids)] or several
        pairs = [(job, ids) for job, several in zip(jobs, found, strict=True) for ids in several]
        plain = [tuple(i for i in ids if i != EOS) for _, ids in pairs]
        scored = iter(self._score([job for job, _ in pairs], plain))
        answers = iter(as_answer(ids, log_probs) for (_, ids), log_probs in zip(pairs, scored, strict=True))
        return [ranked([next(answers) for _ in several], config.length_penalty) for several in found]

    def _beams(
        self, jobs: Sequence[Job], limit: int, config: DecodingConfig, without: Sequence[int]
    ) -> list[list[tuple[int, ...]]]:
        """The answers of each beam, each with its end if it has one."""
        left_out = (*NEVER, *without)
        prefixes = [self._names(job.prefix) for job in jobs]
        results = self._translator.translate_batch(
            [self.cut(job.source) for job in jobs],
            target_prefix=prefixes if any(prefixes) else None,
            beam_size=config.beam,
            num_hypotheses=config.beam,
            suppress_sequences=[[self._target[i]] for i in left_out],
            return_end_token=True,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=config.min_len,
        )
        return [[tuple(self._ids[one] for one in ids) for ids in result.hypotheses] for result in results]

    def _score(self, jobs: Sequence[Job], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        sources = [[self._source[i] for i in job.source] for job in jobs]
        results = self._translator.score_batch(sources, list(map(self._names, targets)), max_input_length=0)
        return [[float(value) for value in result.log_probs] for result in results]

    def cut(self, source: Sequence[int]) -> list[str]:
        """A source as it is searched for; a program that cuts text itself may have other pieces."""
        return [self._source[i] for i in source]

    def _names(self, ids: Sequence[int]) -> list[str]:
        return [self._target[i] for i in ids]


def as_answer(ids: Sequence[int], log_probs: Sequence[float]) -> Answer:
    """An answer from the ids of a beam and the log-probabilities of its pieces and of an end."""
    finished = bool(ids) and ids[-1] == EOS
    pieces = tuple(ids[:-1] if finished else ids)
    return Answer(pieces, tuple(log_probs[: len(pieces) + finished]), finished)


def is_broken(ids: Sequence[int]) -> bool:
    """Whether some of the bytes make no character."""
    text = b"".join(bytes([i - FIRST_BYTE]) if FIRST_BYTE <= i < FIRST_BYTE + 256 else b" " for i in ids)
    try:
        text.decode()
    except UnicodeDecodeError:
        return True
    return False
