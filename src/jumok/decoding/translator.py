"""Translator: text in, Translation out. Torch is imported only when it is needed."""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from jumok.answers import Answer
from jumok.checkpoint.contents import Contents
from jumok.decoding.confidence import Calibrated, with_confidence
from jumok.decoding.directed import Directed
from jumok.decoding.engines import Engine, cannot
from jumok.decoding.ensembles import Named, open_models
from jumok.decoding.heads import head_of, no_head
from jumok.decoding.hypotheses import hypotheses_of
from jumok.decoding.inside import Seen
from jumok.decoding.jobs import Job, Request, SourceText, check_texts, make_request, read_sources
from jumok.decoding.loops import cut_loops, may_loop
from jumok.decoding.opening import Note, log
from jumok.decoding.parts import SentenceHabit, TextJobs, make_jobs, protection_of, sentence_habit, with_terms
from jumok.decoding.results import Hypothesis, Joint, Score, Translation
from jumok.decoding.scores import score_pairs, unequal
from jumok.decoding.troubles import explain_trouble, explained
from jumok.progress import Progress, silent
from jumok.text.layouts import Protection
from jumok.text.sentences import TextLayout

if TYPE_CHECKING:
    from jumok.checkpoint.model import LoadedModel
    from jumok.decoding.beam_tree import BeamTree
    from jumok.decoding.search import Search
    from jumok.decoding.stream import Final, Partial
    from jumok.models.interface import Seq2Seq

BLOCK = 1024  # lines that are sorted by length together when the input is a stream


def load(
    path: Named,
    device: str | None = None,
    *,
    engine: str = "auto",
    note: Note = log.info,
    mean: str = "probabilities",
) -> "Translator":
    """The translator in a run folder (its best checkpoint), a checkpoint or a model folder.

    A list of folders, or "A+B", is an ensemble: the mean of their probabilities or logs. Without a device the
    best there is: cuda, else cpu. The engine is auto, native or torch; `note` hears why auto is not native.
    """
    return Translator(open_models(path, device, engine, note, mean))


class Translator(Calibrated, Directed, Seen):
    """A loaded model. It has no state that changes, so threads may share it."""

    def __init__(self, model: "LoadedModel | Engine") -> None:
        if isinstance(model, Contents):
            from jumok.decoding.torch_engine import TorchEngine

            model = TorchEngine(model.model, model)
        self._engine: Engine = model
        contents = model.contents
        self.tokenizers, self.config = contents.tokenizers, contents.config
        self._about = {"name": contents.folder.name, **contents.info}
        self.interventions: Sequence[Mapping[str, Any]] = ()
        """What `edited` put into the model, in words that people and traces read."""

    @property
    def model(self) -> "Seq2Seq":
        """The model in torch, whichever engine translates."""
        return self._engine.to_torch().model

    @model.setter
    def model(self, model: "Seq2Seq") -> None:
        """Another model takes its place, and torch computes."""
        from jumok.decoding.torch_engine import TorchEngine

        self._engine = TorchEngine(model, self._engine.contents)

    @property
    def engine(self) -> dict[str, str]:
        """What translates: the engine's name, the type of its numbers, its instructions or its device."""
        return self._engine.about

    def engine_for(self, **options: Any) -> dict[str, str]:
        """What a call of `translate` with these options is computed by, in the same words."""
        return self.engine_of(make_request(self.config.decoding, options)).about

    def on_torch(self, what: str) -> Self:
        """The same translator on torch, which has `what`; an error if another engine was chosen by name."""
        if self._engine.name == "torch":
            return self
        if self._engine.strict:
            raise cannot(self._engine.name, what)
        other = copy.copy(self)
        other._engine = self._engine.to_torch(what)
        return other

    def engine_of(self, request: Request) -> Engine:
        """The engine, if it has all that is asked for, else torch."""
        lack = self._engine.lacks(request)
        return self.on_torch(lack)._engine if lack else self._engine

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info['name']!r}, {self.config.model.arch})"

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
            "engine": self.engine,
            "sentences": "split" if self.sentence_habit.split else "as-is",
            **self.tokenizers.source_info,
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

        To a model that reads pictures a text is the name of one: a path or a data URL. Options are those of
        `DecodingConfig`, by default as the model's folder says, and those of `Request`, such as `prefix`,
        `glossary`, `memory` and `confidence`. A model that was taught on sentences gets a text sentence by
        sentence, and the answer is laid out as the text is. No answer depends on the other texts.
        """
        request = make_request(self.config.decoding, options)
        translations = self.directed(request)._translate(check_texts(texts), request, progress)
        return translations[0] if isinstance(texts, str) else translations

    @overload
    async def atranslate(self, texts: str, *, progress: Progress = silent, **options: Any) -> Translation: ...
    @overload
    async def atranslate(
        self, texts: Sequence[str], *, progress: Progress = silent, **options: Any
    ) -> list[Translation]: ...
    async def atranslate(
        self, texts: str | Sequence[str], *, progress: Progress = silent, **options: Any
    ) -> Translation | list[Translation]:
        """`translate` in a thread of its own, so that an event loop goes on meanwhile."""
        import asyncio  # takes a while, and `jumok translate` has no use for it

        lines = check_texts(texts)
        translations = await asyncio.to_thread(lambda: self.translate(lines, progress=progress, **options))
        return translations[0] if isinstance(texts, str) else translations

    def stream(self, text: str, **options: Any) -> "Iterator[Partial | Final]":
        """A translation as it grows: a `Partial` after each step, then `Final` with what `translate` gives.

        The first `stable` tokens of a partial never change. A long text comes part after part.
        """
        request = make_request(self.config.decoding, options)
        [line] = check_texts(text)
        self.check(request)
        own = self.directed(request)
        [made] = own.jobs([line], request)
        return own._grow(line, made, request)

    def _grow(self, text: str, made: TextJobs, request: Request) -> "Iterator[Partial | Final]":
        from jumok.decoding.stream import Final

        may_loop, joint = partial(self.may_loop, text, request), self.joint(made.layout)
        engine = self.engine_of(request)
        for part in engine.grow(made.jobs, request, self.explained, may_loop, joint):
            if not isinstance(part, list):
                yield part
                continue
            answers = engine.aligned(made.jobs, part, request)
            yield Final(self.finish(text, made.layout, answers, request))

    def translate_iter(
        self, texts: Iterable[str], *, block: int = BLOCK, progress: Progress = silent, **options: Any
    ) -> Iterator[Translation]:
        """Translations of a stream, in order and in constant memory: `block` texts are taken at a time."""
        request = make_request(self.config.decoding, options)
        request.check_stream()
        return self.directed(request)._blocks(iter(texts), block, request, progress)

    def _blocks(
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
        self,
        sources: str,
        targets: str,
        *,
        to: str = "",
        from_language: str = "",
        progress: Progress = silent,
    ) -> Score: ...
    @overload
    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        to: str = "",
        from_language: str = "",
        progress: Progress = silent,
    ) -> list[Score]: ...
    def score(
        self,
        sources: str | Sequence[str],
        targets: str | Sequence[str],
        *,
        to: str = "",
        from_language: str = "",
        progress: Progress = silent,
    ) -> Score | list[Score]:
        """How probable each target is, given its source: log-probabilities per token and in all."""
        both = self.towards(to, from_language).tokenizers
        left, right = check_texts(sources), check_texts(targets)
        if isinstance(sources, str) != isinstance(targets, str):
            raise unequal(len(left), len(right))
        results = score_pairs(self._engine, both, self.config, left, right, self.explained, progress)
        return results[0] if isinstance(sources, str) else results

    def read(self, texts: Iterable[str | SourceText]) -> list[SourceText]:
        """Each text as the model reads it: tidied and tokenised, once for all that follows."""
        return read_sources(texts, self.tokenizers)

    def translate_read(
        self, sources: Sequence[SourceText], *, progress: Progress = silent, **options: Any
    ) -> list[Translation]:
        """`translate` of what `read` gave."""
        request = make_request(self.config.decoding, self.asked(options))
        return self.directed(request)._translate(sources, request, progress)

    def jobs(self, texts: Sequence[str | SourceText], request: Request, before: int = 0) -> list[TextJobs]:
        """The jobs of each text: none for a blank one, several for one that is translated in parts.

        There are `before` texts in front of these; the number of a text that is too long counts them.
        """
        self = self.directed(request)  # noqa: PLW0642
        if request.long is None and self.config.data.long == "cut":
            request = replace(request, long="cut")
        if request.align and not self.aligns:
            raise no_head(self.config)
        sources, split, protect = self.read(texts), self.splits(request), self.protects(request)
        both, data = self.tokenizers, self.config.data
        return make_jobs(sources, request, both, data, before, split=split, protect=protect)

    def protects(self, request: Request) -> Protection:  # of placeholders and the like
        return protection_of(self.config.text, self.tokenizers, self.sentence_habit, request)

    def splits(self, request: Request) -> bool:
        """Whether texts are translated sentence by sentence."""
        return self.sentence_habit.split if request.sentences == "auto" else request.sentences == "split"

    @property
    def aligns(self) -> bool:
        """Whether `align` can be asked for: the model has attention to a source that is text."""
        return self.tokenizers.pictures is None and head_of(self.config, self._about) is not None

    @property
    def sentence_habit(self) -> SentenceHabit:
        """Whether the model takes texts sentence by sentence if no one says, and why."""
        pictures, data = bool(self.tokenizers.pictures), self.config.data
        codes = next(one for one in self.directions if data.target_language in ("", one.target))
        return sentence_habit(data, codes, self._about, pictures=pictures)

    def joint(self, layout: TextLayout) -> Joint:
        """How the answers to the parts of a text with this layout are put together."""
        data = self.config.data
        return Joint(layout, data.source_language, data.target_language)

    def search_for(self, job: Job, request: Request, *, record: "BeamTree | None" = None) -> "Search":
        """The search for the answers to one job in torch, ready for its first step."""
        return self._engine.to_torch().search_for(job, request, record)

    def finish(
        self,
        text: str | SourceText,
        layout: TextLayout,
        answers: Sequence[Sequence[Answer]],
        request: Request,
    ) -> Translation:
        """The translation of a text from the answers to each of its jobs, best first."""
        parts = self.parts(text, layout, answers, request)
        made = self.joint(layout).translation(text if isinstance(text, str) else text.given, parts)
        return with_terms(made, layout, parts, request, self.tokenizers, self.config.data)

    def parts(
        self,
        text: str | SourceText,
        layout: TextLayout,
        answers: Sequence[Sequence[Answer]],
        request: Request,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each part of a text, best first; links are those within the part."""
        cut = [cut_loops(best_first) for best_first in answers]
        if cut != list(map(list, answers)) and not self.may_loop(text, request):
            answers = cut
        sentences = layout.read if request.align else [None] * len(answers)
        parts = [
            hypotheses_of(best_first, self.tokenizers, request.decoding.n_best, sentence)
            for best_first, sentence in zip(answers, sentences, strict=True)
        ]
        if request.confidence:
            return [
                with_confidence(self.calibration, sentence, part, self.tokenizers)
                for sentence, part in zip(layout.read, parts, strict=True)
            ]
        return parts

    def may_loop(self, text: str | SourceText, request: Request) -> bool:
        """Whether answers to this text may go round in circles: as asked for, or as the text does.

        Someone who says what answers contain or how long they are gets them so.
        """
        source = self.read([text])[0] if self.tokenizers.pictures is None else None
        return may_loop(request, source, self.tokenizers.target)

    def asked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that a call with these options runs with."""
        return dict(options)

    def _translate(
        self, texts: Sequence[str | SourceText], request: Request, progress: Progress, before: int = 0
    ) -> list[Translation]:
        """Translations of texts that have `before` others in front of them."""
        self.check(request)
        if request.memory:
            from jumok.decoding.recall import translate_remembered

            return translate_remembered(self, texts, request, progress, before)
        return [
            self.finish(text, made.layout, answers, request)
            for text, made, answers in self.answered(texts, request, progress, before)
        ]

    def answered(
        self, texts: Sequence[str | SourceText], request: Request, progress: Progress, before: int = 0
    ) -> list[tuple[str | SourceText, TextJobs, list[list[Answer]]]]:
        """Each text with its jobs and their answers. The sentences of all texts are searched together."""
        made = self.jobs(texts, request, before)
        engine = self.engine_of(request)
        todo = dict.fromkeys(job for one in made for job in one.jobs)
        known = dict[Job, list[Answer]]()
        for batch, answers in engine.answers(list(todo), request, self.explained):
            known.update(zip(batch, engine.aligned(batch, answers, request), strict=True))
            progress("translating", len(texts) * len(known) // len(todo), len(texts))
        return [(text, one, [known[job] for job in one.jobs]) for text, one in zip(texts, made, strict=True)]

    def explained(self, batch: Sequence[Job]) -> AbstractContextManager[None]:
        """The model's own troubles with these jobs as errors that say what to do."""
        return explained(batch, self.tokenizers)

    def explain(self, error: Exception, batch: Sequence[Job]) -> Exception:
        """A model's trouble as an error that says what to do, with the text where it is known."""
        return explain_trouble(error, batch, self.tokenizers)
