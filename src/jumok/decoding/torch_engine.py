"""The torch engine: every option, every model, every device."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache

from jumok.answers import Answer, Lead, NotFiniteError
from jumok.backends.recording import RecordingBackend
from jumok.checkpoint.contents import Contents
from jumok.config import DecodingConfig
from jumok.decoding.aligned import align_answers
from jumok.decoding.batched import device_of, encode, make_search, score_targets, search, token_budget
from jumok.decoding.beam_tree import BeamTree
from jumok.decoding.device import DeviceSearch, preferred, supports
from jumok.decoding.engines import Answers, Explained, Scores, no_shortlist
from jumok.decoding.filters import Filter, ban
from jumok.decoding.heads import head_of
from jumok.decoding.jobs import Job, Request, batches, pair_size, token_spellings
from jumok.decoding.mbr import choice
from jumok.decoding.results import Joint
from jumok.decoding.search import Search, run_search, search_steps
from jumok.decoding.stream import Partial, make_partial
from jumok.edits import Edits
from jumok.models.interface import Seq2Seq
from jumok.native.model import SearchOptions
from jumok.text.tokenizer import Tokenizer


class TorchEngine:
    """A model in torch, searched step by step or, on a GPU, as a whole."""

    name, strict, sees = "torch", False, True

    def __init__(self, model: Seq2Seq, contents: Contents) -> None:
        self.model, self.contents, self._tokenizers = model, contents, contents.tokenizers

    @property
    def inside(self) -> Seq2Seq:
        return self.model

    def around(self, model: Seq2Seq) -> "TorchEngine":
        """The same engine around another model of this kind."""
        return TorchEngine(model, self.contents)

    def edited(self, edits: Edits) -> "TorchEngine":
        return self.around(self.model.using(RecordingBackend(edits)))

    @property
    def about(self) -> dict[str, str]:
        first = next(self.model.parameters())
        return {
            "name": self.name,
            "type": str(first.dtype).removeprefix("torch."),
            "level": str(first.device),
        }

    def lacks(self, request: Request) -> str:
        return ""

    def answers(self, jobs: Sequence[Job], request: Request, explained: Explained) -> Answers:
        if request.shortlist:
            raise no_shortlist()
        config, banned, where = request.decoding, self._banned(request.ban), device_of(self.model)
        free = [job for job in jobs if not job.phrases]
        if free and preferred(where) and supports(self.model, free, config, banned):
            yield from self._answers_on_device(free, config, explained)
            jobs = [job for job in jobs if job.phrases]
        budget, choose = token_budget(config, where), choice(config, self._tokenizers.target)
        for batch in batches(jobs, budget, lambda job: job.width(config) * (len(job.source) + 1)):
            with explained(batch):
                answers = search(self.model, batch, config, self._spellings, banned, choose)
            yield batch, answers

    def scores(self, jobs: Sequence[Job], budget: int, explained: Explained) -> Scores:
        for batch in batches(jobs, budget, pair_size):
            with explained(batch):
                log_probs = score_targets(
                    self.model, [job.source for job in batch], [job.prefix for job in batch]
                )
            yield batch, log_probs

    def aligned(
        self, jobs: Sequence[Job], answers: list[list[Answer]], request: Request
    ) -> list[list[Answer]]:
        """The answers with their alignments, if asked for: by one more pass through the model."""
        head = head_of(self.contents.config, self.contents.info) if request.align else None
        if head is None:
            return answers
        return align_answers(self.model, jobs, answers, head, self._tokenizers.frame.around)

    def to_torch(self, what: str = "") -> "TorchEngine":
        return self

    def search_for(self, job: Job, request: Request, record: BeamTree | None = None) -> Search:
        """The search for the answers to one job, ready for its first step."""
        if request.shortlist:
            raise no_shortlist()
        config, banned, device = request.decoding, self._banned(request.ban), device_of(self.model)
        choose = choice(config, self._tokenizers.target)
        return make_search(
            [job], config, self._spellings, banned, choose=choose, device=device, record=record
        )

    def grow_tree(self, job: Job, request: Request, tree: BeamTree) -> None:
        search = self.search_for(job, request, tree)
        run_search(self.model, encode(self.model, [job], [len(search.token)]), search)

    def grow(
        self,
        jobs: Sequence[Job],
        request: Request,
        explained: Explained,
        may_loop: Callable[[], bool],
        joint: Joint,
    ) -> Iterator[Partial | list[list[Answer]]]:
        """A partial answer after each step of the jobs, and at the end the answers to each."""
        searches = [self.search_for(job, request) for job in jobs]
        partials = stream_jobs(self.model, self._tokenizers.target, jobs, searches, may_loop, joint)
        with explained(jobs):
            yield from partials
        yield [search.answers()[0] for search in searches]

    def _answers_on_device(
        self, jobs: Sequence[Job], config: DecodingConfig, explained: Explained
    ) -> Answers:
        options = SearchOptions.of(config)
        sources, limits = [job.source for job in jobs], [job.limit(config) for job in jobs]
        budget = config.batch_tokens or None  # None: what memory allows
        with explained(jobs):
            for places, answers in self._device_search.search(sources, limits, options, budget=budget):
                yield [jobs[place] for place in places], answers

    @cached_property
    def _device_search(self) -> DeviceSearch:
        """A copy of the weights and the memory of the search, used by one call at a time."""
        return DeviceSearch(self.model)

    @cached_property
    def _spellings(self) -> list[bytes]:
        return token_spellings(self._tokenizers.target)

    @cached_property
    def _banned(self) -> Callable[[tuple[str, ...]], list[Filter]]:
        """The filters for banned texts; they take a walk over the vocabulary, so the last ones are kept."""
        spellings, spell = self._spellings, self._tokenizers.target.spell
        return lru_cache(maxsize=16)(lambda texts: [ban(list(map(spell, texts)), spellings)] if texts else [])


def stream_jobs(
    model: Seq2Seq,
    tokenizer: Tokenizer,
    jobs: Sequence[Job],
    searches: Sequence[Search],
    may_loop: Callable[[], bool],
    joint: Joint,
) -> Iterator[Partial]:
    """What is known of a text after each step; its jobs are worked through one after the other."""
    leads: list[Lead] = []  # of the jobs that are done
    t = 0
    for number, (job, one) in enumerate(zip(jobs, searches, strict=True)):
        try:
            for _ in search_steps(model, encode(model, [job], [len(one.token)]), one):
                t += 1
                yield make_partial(tokenizer, t, [*leads, one.lead()], may_loop, joint)
        except NotFiniteError:
            raise NotFiniteError(number) from None
        leads.append(one.lead())
