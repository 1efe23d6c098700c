"""Translator: text in, Translation out. The friendly face of a model."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from itertools import chain, islice
from math import fsum
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload

import torch

from jumok.checkpoint.checkpoints import Loaded, load_model
from jumok.decoding.filters import Phrase, ban
from jumok.decoding.jobs import Job, batches, piece_bytes, score_targets, search
from jumok.decoding.parts import split_text
from jumok.decoding.request import Long, Request, make_request
from jumok.decoding.results import Hypothesis, Score, Token, Translation, shorten
from jumok.decoding.scores import Answer, NotFiniteError
from jumok.errors import ConfigError, DataError, LimitError, RunError
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy
from jumok.text.tokenizer import EOS

__all__ = ["Hypothesis", "Score", "Token", "Translation", "Translator", "load"]

BLOCK = 1024  # lines that are sorted by length together when the input is a stream


def load(path: str | Path, device: str | None = None) -> "Translator":
    """The translator in a run folder (its best checkpoint), a checkpoint or a model folder.

    Without a device the best there is: cuda, else cpu.
    """
    # cuDNN's attention makes a plan for each new shape, 0.4 s each, and every step has another.
    torch.backends.cuda.enable_cudnn_sdp(enabled=False)
    return Translator(load_model(path, check_device(device)))


def check_device(name: str | None) -> str:
    """The named device, if this machine has it."""
    cuda = torch.cuda.is_available()
    if name is None:
        return "cuda" if cuda else "cpu"
    kind = name.split(":")[0]
    if kind == "cpu" or (kind == "cuda" and cuda):
        return name
    raise ConfigError(
        f"device {name!r} is not available", hint="choose cpu or cuda" if cuda else "this machine has: cpu"
    )


class Translator:
    """A loaded model. It has no state that changes, so threads may share it."""

    def __init__(self, loaded: Loaded) -> None:
        self.model, self.tokenizers, self.config = loaded.model, loaded.tokenizers, loaded.config
        self._about = {"name": loaded.folder.name, **loaded.info}

    def __repr__(self) -> str:
        return f"Translator({self.info['name']!r}, {self.config.model.arch})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to close: the memory goes with the object."""

    @property
    def info(self) -> dict[str, Any]:
        """What the model is: architecture, sizes, languages, parameters, fingerprint."""
        data = self.config.data
        return {
            "arch": self.config.model.arch,
            "model": asdict(self.config.model),
            "source_language": data.source_language,
            "target_language": data.target_language,
            "source_vocabulary": self.tokenizers.source.size,
            "target_vocabulary": self.tokenizers.target.size,
            "shared_vocabulary": self.tokenizers.shared,
            "max_length": data.max_length,
            **self._about,
        }

    @overload
    def translate(self, texts: str, *, progress: Progress = silent, **options: Any) -> Translation: ...
    @overload
    def translate(
        self, texts: Sequence[str], *, progress: Progress = silent, **options: Any
    ) -> list[Translation]: ...
    def translate(
        self, texts: str | Sequence[str], *, progress: Progress = silent, **options: Any
    ) -> Translation | list[Translation]:
        """The translation of a text, or of each text in a list, in order; a blank text gives a blank one.

        Options are those of `DecodingConfig`, by default as the model's folder says, and `prefix`, `ban`,
        `require` and `long` of `Request`. The answer to a text never depends on the others.
        """
        request = make_request(self.config.decoding, options)
        found = self._translate(check_texts(texts), request, progress)
        return found[0] if isinstance(texts, str) else found

    def translate_iter(
        self, texts: Iterable[str], *, block: int = BLOCK, progress: Progress = silent, **options: Any
    ) -> Iterator[Translation]:
        """Translations of a stream, in order and in constant memory: `block` texts are taken at a time."""
        request = make_request(self.config.decoding, options)
        if not isinstance(request.prefix, str):
            raise ConfigError(
                "a stream takes one prefix for all texts", hint="translate a list to give one prefix for each"
            )
        return self._stream(iter(texts), block, request, progress)

    def _stream(
        self, texts: Iterator[str], block: int, request: Request, progress: Progress
    ) -> Iterator[Translation]:
        before = 0
        while lines := check_texts(list(islice(texts, block))):

            def report(what: str, done: int, total: int | None, before: int = before) -> None:
                progress(what, before + done, None)

            yield from self._translate(lines, request, report, before)
            before += len(lines)

    @overload
    def score(  # type: ignore[overload-overlap]  # a str is a sequence of str, too
        self, sources: str, targets: str, *, progress: Progress = silent
    ) -> Score: ...
    @overload
    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, progress: Progress = silent
    ) -> list[Score]: ...
    def score(
        self, sources: str | Sequence[str], targets: str | Sequence[str], *, progress: Progress = silent
    ) -> Score | list[Score]:
        """How probable each target is, given its source: log-probabilities per token and in all."""
        left, right = check_texts(sources), check_texts(targets)
        if len(left) != len(right) or isinstance(sources, str) != isinstance(targets, str):
            raise DataError(
                f"there are {len(left)} sources and {len(right)} targets",
                hint="give one target for each source",
                code="unequal_lines",
            )
        source_ids = self.tokenizers.source.encode_many(map(tidy, left))
        target_ids = self.tokenizers.target.encode_many(map(tidy, right))
        # A target is a prefix that goes on to the end.
        jobs = [Job(tuple(s), tuple(t)) for s, t in zip(source_ids, target_ids, strict=True)]
        todo, scores = dict.fromkeys(jobs), dict[Job, list[float]]()
        for batch in batches(todo, self.config.decoding.batch_tokens, pair_size):
            with self._explained(batch):
                found = score_targets(
                    self.model, [job.source for job in batch], [job.prefix for job in batch]
                )
            scores.update(zip(batch, found, strict=True))
            progress("scoring", len(scores), len(todo))
        results = []
        for source, target, job in zip(left, right, jobs, strict=True):
            tokens = self._tokens((*job.prefix, EOS), scores[job])
            results.append(Score(source, target, *sum_up(tokens), tokens))
        return results[0] if isinstance(sources, str) else results

    def _translate(
        self, texts: Sequence[str], request: Request, progress: Progress, before: int = 0
    ) -> list[Translation]:
        """Translations of texts that have `before` others in front of them."""
        config = request.decoding
        jobs = self._jobs([tidy(text) for text in texts], request, before)
        todo, found = dict.fromkeys(chain.from_iterable(jobs)), dict[Job, list[Hypothesis]]()
        banned = [ban(request.ban, self._pieces)] if request.ban else []
        width = config.n_best if config.sample else config.beam
        for batch in batches(todo, config.batch_tokens, lambda job: width * (len(job.source) + 1)):
            with self._explained(batch):
                answers = search(self.model, batch, config, self._pieces, banned)
            for job, best_first in zip(batch, answers, strict=True):
                found[job] = self._hypotheses(best_first, config.n_best)
            progress("translating", len(texts) * len(found) // len(todo), len(texts))
        return [join(text, [found[job] for job in parts]) for text, parts in zip(texts, jobs, strict=True)]

    def _jobs(self, lines: Sequence[str], request: Request, before: int) -> list[list[Job]]:
        """The jobs of each tidied line: none for a blank one, several for one that is split.

        A prefix goes to the first part and required texts to the last.
        """
        encode = self.tokenizers.target.encode
        phrases = tuple(Phrase(text, tuple(encode(text))) for text in request.require)
        prefixes = [tuple(encode(prefix)) if prefix else () for prefix in request.prefixes(len(lines))]
        jobs = []
        for i, ids in enumerate(self.tokenizers.source.encode_many(lines)):
            parts = self._parts(lines[i], ids, request.long, before + i + 1) if lines[i] else []
            last = len(parts) - 1
            jobs.append(
                [
                    Job(tuple(part), prefixes[i] if n == 0 else (), phrases if n == last else ())
                    for n, part in enumerate(parts)
                ]
            )
        return jobs

    def _parts(self, line: str, ids: list[int], long: Long, number: int) -> list[list[int]]:
        """The ids of one line, in pieces that the model can take."""
        most, encode_many = self.config.data.max_length, self.tokenizers.source.encode_many
        if len(ids) <= most:
            return [ids]
        match long:
            case "cut":
                return [ids[:most]]
            case "split":
                return encode_many(split_text(line, lambda part: len(encode_many([part])[0]) <= most))
            case "error":
                raise LimitError(
                    f"text {number} has {len(ids):,} pieces, and this model takes {most:,}",
                    hint='long="split" translates it in parts, long="cut" only its beginning',
                    code="too_long",
                )

    def _hypotheses(self, answers: Iterable[Answer], n_best: int) -> list[Hypothesis]:
        """The best answers with different texts."""
        found: dict[str, Hypothesis] = {}
        for answer in answers:
            text = self.tokenizers.target.decode(answer.ids)
            if text not in found and len(found) < n_best:
                ids = (*answer.ids, EOS) if answer.finished else answer.ids
                tokens = self._tokens(ids, answer.log_probs)
                found[text] = Hypothesis(text, *sum_up(tokens), tokens, answer.finished)
        return list(found.values())

    def _tokens(self, ids: Sequence[int], log_probs: Sequence[float]) -> tuple[Token, ...]:
        return tuple(map(Token, self.tokenizers.target.pieces(ids), ids, log_probs))

    @cached_property
    def _pieces(self) -> list[bytes]:
        return piece_bytes(self.tokenizers.target)

    @contextmanager
    def _explained(self, batch: Sequence[Job]) -> Iterator[None]:
        """The model's own troubles as errors that say what to do, with the text where it is known."""
        try:
            yield
        except LookupError as error:  # a position that has no learned row
            raise LimitError(str(error), code="too_long") from None
        except NotFiniteError as error:
            text = self.tokenizers.source.decode(batch[error.sentence].source)
            raise RunError(
                "the model gave numbers that are not finite",
                where=f"for the text {shorten(text)}",
                hint="its weights may be damaged or diverged: jumok verify checks the folder",
                code="model_numeric_error",
            ) from None


def check_texts(texts: str | Iterable[str]) -> list[str]:
    """A list of texts; anything else in it is a TypeError that says where."""
    lines = [texts] if isinstance(texts, str) else list(texts)
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise TypeError(f"text {number} is of type {type(line).__name__}, not str")
    return lines


def pair_size(job: Job) -> int:
    """Padded pieces of the longer side of a pair, its end included."""
    return max(len(job.source), len(job.prefix)) + 1


def sum_up(tokens: Sequence[Token]) -> tuple[float, float]:
    """The sum of the log-probabilities, and their mean."""
    score = fsum(token.logprob for token in tokens)
    return score, score / max(len(tokens), 1)


def join(source: str, parts: Sequence[Sequence[Hypothesis]]) -> Translation:
    """The translation of a source from the hypotheses of its parts, best first; no parts, no text."""
    count = max(map(len, parts), default=1)
    whole = [join_hypotheses([part[min(n, len(part) - 1)] for part in parts]) for n in range(count)]
    best, others = whole[0], tuple(whole[1:])
    return Translation(
        best.text, best.score, best.score_per_token, best.tokens, best.finished, source, others
    )


def join_hypotheses(parts: Sequence[Hypothesis]) -> Hypothesis:
    """Hypotheses one after the other, with a space between."""
    if len(parts) == 1:
        return parts[0]
    tokens = tuple(chain.from_iterable(part.tokens for part in parts))
    text = " ".join(part.text for part in parts if part.text)
    return Hypothesis(text, *sum_up(tokens), tokens, all(part.finished for part in parts))
