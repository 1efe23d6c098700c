"""Engines: what computes the answers. Torch does everything, native searches and draws, and faster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Union

from jumok.answers import Answer, Follow, Lead
from jumok.checkpoint.contents import Contents, read_shortlist
from jumok.config import AlignHead, DecodingConfig
from jumok.decoding.following import leads_of
from jumok.decoding.heads import head_of
from jumok.decoding.inside import Probed
from jumok.decoding.jobs import SOFT, Job, Phrase, Request, token_spellings
from jumok.decoding.mbr import choice
from jumok.decoding.results import Joint
from jumok.decoding.stream import Partial, make_partial
from jumok.decoding.uniforms import uniform_tables
from jumok.errors import ConfigError, has_torch, needs_torch
from jumok.native.draws import Draws
from jumok.native.library import thread_count
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.phrases import (
    ONCE,
    WORD,
    NativePhrase,
    NativeSpelling,
    PhraseOptions,
    Pieces,
)
from jumok.native.phrases import SOFT as SOFT_FLAG
from jumok.native.shortlist import Shortlist
from jumok.native.watch import Watch
from jumok.text.specials import EOS

if TYPE_CHECKING:
    from jumok.decoding.torch_engine import TorchEngine

Explained = Callable[[Sequence[Job]], AbstractContextManager[None]]
"""Around the work for some jobs: turns a model's troubles with them into errors that say what to do."""
Answers = Iterator[tuple[list[Job], list[list[Answer]]]]
"""Some jobs at a time, and the answers to each, best first."""
Scores = Iterator[tuple[list[Job], list[list[float]]]]
"""Some jobs at a time, and the log-probability of each target token and of the end."""
SENTENCES = 256
"""Of one call of the library: enough to sort by length, few enough that an interrupt is soon heard."""
EACH = 32
"""And so many for each thread."""
ROWS = 4096
"""Of one call, where each sentence has many draws."""
LIKE = 4
"""Beams that differ by less than this are searched together."""
Engine = Union["NativeEngine", "TorchEngine"]  # a string: torch is not imported for it
"""A model and one way to compute its answers; both have the same methods."""


def no_shortlist() -> ConfigError:
    """The error for a shortlist where torch computes."""
    return ConfigError(
        "a shortlist is for the native engine, and torch computes here",
        hint="leave out --shortlist, or what needs torch; docs/engines.md lists it",
        code="engine_lacks",
    )


def cannot(engine: str, what: str) -> ConfigError:
    """The error for an engine that someone has chosen and that does not have what they ask for."""
    return ConfigError(
        f"the {engine} engine has no {what}",
        hint=f"leave out {what}, or choose --engine auto or torch",
        code="engine_lacks",
    )


class NativeEngine(Probed):
    """A model in the C library. Threads may share it."""

    name = "native"  # as `--engine` has it

    def __init__(self, model: NativeModel, contents: Contents, *, strict: bool = False) -> None:
        """`strict`: it was chosen by name, and what it lacks is an error, not work for torch."""
        self.model, self.contents, self.strict = model, contents, strict
        self._torch: TorchEngine | None = None
        self._lock = Lock()

    @property
    def about(self) -> dict[str, str]:
        """What people should know of it: its name, the type of its numbers, its instructions."""
        return {"name": self.name, "type": self.model.types, "level": self.model.level}

    @cached_property
    def shortlist(self) -> Shortlist:
        """That of the folder, read when it is first asked for."""
        return read_shortlist(self.contents)

    @property
    def align_head(self) -> AlignHead | None:
        """The head that says where answers come from."""
        return head_of(self.contents.config, self.contents.info)

    def aligned(
        self, jobs: Sequence[Job], answers: list[list[Answer]], request: Request
    ) -> list[list[Answer]]:
        """The answers with their alignments, if asked for: the search has written them down."""
        return answers

    @staticmethod
    def lacks(request: Request) -> str:
        """The first option that is asked for and that only torch has; "" if there is none."""
        return "no_repeat_ngram" if request.decoding.no_repeat_ngram else ""

    def answers(self, jobs: Sequence[Job], request: Request, explained: Explained) -> Answers:
        """The answers to all jobs, in an order that suits the engine."""
        for batch in calls(jobs, request):
            asked = self._asked(batch, request)
            with explained(batch):
                answers = self.searched([job.source for job in batch], **asked)
            choose = choice(request.decoding, self.contents.tokenizers.target)
            yield batch, answers if choose is None else list(map(choose, answers))

    def _asked(self, batch: Sequence[Job], request: Request) -> dict[str, Any]:
        """What a search of these jobs is asked for."""
        config, shortlist = request.decoding, self.shortlist if request.shortlist else None
        around = self.contents.tokenizers.frame.around
        usual = SearchOptions.of(config, self.align_head if request.align else None, around)
        phrases = self._phrases(batch, request)
        limits = [job.limit(config) for job in batch]
        return {
            "limits": limits,
            "options": replace(usual, beam=max(phrases.widths)) if phrases else usual,
            "prefixes": [job.prefix for job in batch] if any(job.prefix for job in batch) else None,
            "shortlists": [shortlist.ids(job.source, job.given) for job in batch] if shortlist else None,
            "phrases": phrases,
            "draws": draws_of(batch, limits, config) if config.draws else None,
        }

    def _phrases(self, batch: Sequence[Job], request: Request) -> PhraseOptions | None:
        """What the answers to a batch must and must not contain; None: whatever they like."""
        if not request.ban and not any(job.phrases for job in batch):
            return None
        spell = self.contents.tokenizers.target.spell
        return PhraseOptions(
            phrases=[list(map(native_phrase, job.phrases)) for job in batch],
            widths=[job.width(request.decoding) for job in batch],
            banned=[spell(text).encode() for text in request.ban],
            enough=request.decoding.draws or request.decoding.beam,
            soft=SOFT,
            pieces=self._pieces,
        )

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(token_spellings(self.contents.tokenizers.target))

    def scores(self, jobs: Sequence[Job], budget: int, explained: Explained) -> Scores:
        """How probable each job's prefix is as a whole target; `budget` as in `batch_tokens`."""
        for batch in chunks(jobs):
            targets = [(*job.prefix, EOS) for job in batch]
            with explained(batch):
                log_probs = self.force([job.source for job in batch], targets)
            yield batch, [one.tolist() for one in log_probs]

    def grow(
        self,
        jobs: Sequence[Job],
        request: Request,
        explained: Explained,
        may_loop: Callable[[], bool],
        joint: Joint,
    ) -> Iterator[Partial | list[list[Answer]]]:
        """A partial answer after each step of the jobs, and at the end the answers to each."""
        done, found, steps = list[Lead](), list[list[Answer]](), count(1)
        for job in jobs:
            leads = leads_of(partial(self.followed, job, request))
            with explained([job]), closing(leads):
                for one in leads:
                    if isinstance(one, Lead):
                        target = self.contents.tokenizers.target
                        yield make_partial(target, next(steps), [*done, one], may_loop, joint)
                    else:
                        found.append(one)
            done.append(found[-1][0].lead)
        yield found

    def followed(self, job: Job, request: Request, follow: Follow) -> list[Answer]:
        """The answers to one job, best first; `follow` hears after each step how far the search has come."""
        choose = choice(request.decoding, self.contents.tokenizers.target)
        watch = Watch(follow, chosen=choose is not None)
        [best_first] = self.searched([job.source], **self._asked([job], request), watch=watch)
        if choose is None:
            return best_first
        chosen = choose(best_first)
        follow(chosen[0].lead)
        return chosen

    def to_torch(self, what: str = "the torch engine") -> "TorchEngine":
        """The same model in torch, for what this engine lacks."""
        if not has_torch():
            raise needs_torch(what)
        if self._origin is not None:
            return self.in_torch(self._origin.to_torch(what))
        from jumok.checkpoint.model import load_packed
        from jumok.decoding.torch_engine import TorchEngine

        with self._lock:
            if self._torch is None:
                self._torch = TorchEngine(load_packed(self.contents, self.model.parts).model, self.contents)
            return self._torch


def draws_of(jobs: Sequence[Job], limits: Sequence[int], config: DecodingConfig) -> Draws:
    """How the answers to jobs are drawn."""
    sources = [job.source for job in jobs]
    numbers = uniform_tables(sources, limits, seed=config.seed, draws=config.draws)
    return Draws(numbers, config.temperature, config.top_k, config.top_p)


def native_phrase(phrase: Phrase) -> NativePhrase:
    """A phrase as the library takes it."""
    flags = ONCE * phrase.once | SOFT_FLAG * phrase.soft | WORD * phrase.word
    return NativePhrase(flags, tuple(NativeSpelling(one.text.encode(), one.ids) for one in phrase.spellings))


def calls(jobs: Sequence[Job], request: Request) -> Iterator[list[Job]]:
    """A call's worth of jobs at a time; those with phrases apart, with others of about their width."""
    groups: dict[int, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.width(request.decoding) // LIKE if job.phrases else -1, []).append(job)
    for _, group in sorted(groups.items()):
        yield from chunks(group, request.decoding.draws)


def chunks(jobs: Sequence[Job], draws: int = 0) -> Iterator[list[Job]]:
    """Jobs of similar length, longest first, a call's worth at a time; of many draws there are fewer."""
    order = sorted(jobs, key=lambda job: len(job.source) + len(job.prefix), reverse=True)
    size = max(SENTENCES, EACH * thread_count())
    if draws:
        size = max(min(size, ROWS // draws), thread_count())
    for begin in range(0, len(order), size):
        yield order[begin : begin + size]
