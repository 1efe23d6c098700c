"""Model: a translator that can be looked into and changed. What `jumok.load` returns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self, overload

from jumok.decoding.ensembles import Named, open_models
from jumok.decoding.jobs import Job, SourceText, check_texts, make_request
from jumok.decoding.opening import Note, log
from jumok.decoding.results import Translation, alone
from jumok.decoding.stream import Final, Partial
from jumok.decoding.translator import BLOCK, Translator
from jumok.documents.report import DocumentReport
from jumok.documents.translate import Watch, translate_document, unwatched
from jumok.errors import ConfigError
from jumok.explain.capture import Array
from jumok.explain.edits import compile_edits
from jumok.explain.forced import NO_KEY
from jumok.explain.forward import ForwardPass, forward_pass
from jumok.explain.free_running import FreeRunning, free_running
from jumok.explain.gradients import Gradients, gradients
from jumok.explain.neighbours import Neighbours, neighbours
from jumok.explain.ops import Intervention, Op, ReplaceSource, bad_parameter, ops_to_json
from jumok.explain.trace import Trace, make_trace, make_traces, position_rows
from jumok.explain.traced import TracedTranslation, with_traces
from jumok.explain.votes import Votes, votes
from jumok.explain.what_if import WhatIf, what_if
from jumok.progress import Progress, silent
from jumok.training.one_step import W_OUT, TrainingStep


def load(
    path: Named,
    device: str | None = None,
    *,
    engine: str = "auto",
    note: Note = log.info,
    mean: str = "probabilities",
) -> "Model":
    """The model in a run folder (its best checkpoint), a checkpoint or a model folder.

    A list of folders, or "A+B", is an ensemble, which takes the mean of their probabilities or of their logs.
    `demo/transformer`, `demo/ko-en` and their like are small models that come with the package. Without a
    device the best there is: cuda, else cpu. The engine is auto, native or torch; what the one
    that it chose lacks, such as attention, auto leaves to torch.
    """
    return Model(open_models(path, device, engine, note, mean))


class Model(Translator):
    """A loaded model: translates, shows how, and answers what if. Nothing in it changes; threads share it."""

    ops: tuple[Op, ...] = ()
    """The interventions in force; see `edit`."""
    _plain: Self | None = None
    _brought: Mapping[str, Any] = MappingProxyType({})

    @overload  # type: ignore[override]  # a str is a sequence of str, too
    def translate(
        self,
        texts: str,
        *,
        attention: Literal[True],
        record_beam: bool = ...,
        progress: Progress = ...,
        **options: Any,
    ) -> TracedTranslation: ...
    @overload
    def translate(
        self,
        texts: Sequence[str],
        *,
        attention: Literal[True],
        record_beam: bool = ...,
        progress: Progress = ...,
        **options: Any,
    ) -> list[TracedTranslation]: ...
    @overload
    def translate(self, texts: str, *, progress: Progress = ..., **options: Any) -> Translation: ...
    @overload
    def translate(
        self, texts: Sequence[str], *, progress: Progress = ..., **options: Any
    ) -> list[Translation]: ...
    def translate(
        self,
        texts: str | Sequence[str],
        *,
        attention: bool = False,
        record_beam: bool = False,
        progress: Progress = silent,
        **options: Any,
    ) -> Translation | Sequence[Translation]:
        """The translation of a text, or of each text in a list, in order.

        With `attention` or `record_beam` each answer is a `TracedTranslation`: the same, with attention,
        influence, an alignment, and the tree of the search. Other options: see `Translator.translate`.
        """
        asked = self.asked(options)
        lines = check_texts(texts)
        if record_beam and make_request(self.config.decoding, asked).decoding.draws:
            raise ConfigError(
                "an answer that is drawn at random has no beam tree", hint="set sample to false and mbr to 0"
            )
        found: Sequence[Translation]
        if attention or record_beam:
            plain = self.asked_in(asked).seeing("attention" if attention else "record_beam")
            found = plain.remembering()._traced(lines, options, progress, recorded=record_beam)
        else:
            found = super().translate(lines, progress=progress, **asked)
        return found[0] if isinstance(texts, str) else found

    def _traced(
        self, lines: Sequence[str], options: Mapping[str, Any], progress: Progress, *, recorded: bool
    ) -> list[TracedTranslation]:
        """The translations with the traces of their sentences, captured in batches; a blank text has none.

        A text that is not taken sentence by sentence, and too long for the model, has that of its beginning.
        """
        request = make_request(self.config.decoding, self.asked(options))
        found, counts, prefixes = list[Translation](), list[int](), request.prefixes(len(lines))
        texts, answers, begins = list[str | SourceText](), list[Translation](), list[str]()
        for n, (source, made, best_first) in enumerate(self.answered(self.read(lines), request, progress)):
            layout, parts = made.layout, self.parts(source, made.layout, best_first, request)
            found.append(self.joint(layout).translation(lines[n], parts))
            own = [(source, found[-1])] if parts else []
            if layout.kept or layout.masks:
                pairs = zip(layout.read, made.jobs, parts, strict=True)
                own = [(self._sentence(one, job), alone(one, part)) for one, job, part in pairs]
            texts += [text for text, _ in own]
            answers += [answer for _, answer in own]
            begins += [prefixes[n] if k == 0 else "" for k in range(len(own))]
            counts.append(len(own))
        traces = make_traces(self, texts, translations=answers, options={**options, "prefix": begins})
        rest = iter(zip(answers, traces, strict=True))
        return [
            with_traces(one, list(islice(rest, count)), recorded=recorded)
            for one, count in zip(found, counts, strict=True)
        ]

    def _sentence(self, text: str, job: Job) -> SourceText:
        """A sentence as its job has read it."""
        return SourceText(text, self.tokenizers.tidy_source(text), self.tokenizers.bare(job.source))

    def translate_iter(
        self, texts: Iterable[str], *, block: int = BLOCK, progress: Progress = silent, **options: Any
    ) -> Iterator[Translation]:
        """Translations of a stream, in order and in constant memory: `block` texts are taken at a time."""
        return super().translate_iter(texts, block=block, progress=progress, **self.asked(options))

    def translate_document(  # noqa: PLR0913  all but two have defaults
        self,
        source: str | Path,
        target: str | Path,
        *,
        format: str | None = None,
        all_segments: bool = False,
        progress: Progress = silent,
        watch: Watch = unwatched,
        **options: Any,
    ) -> DocumentReport:
        """Translate a file with its markup into another of the same format: `jumok.translate_document`."""
        return translate_document(
            self,
            source,
            target,
            format=format,
            all_segments=all_segments,
            progress=progress,
            watch=watch,
            **options,
        )

    def stream(self, text: str, **options: Any) -> Iterator[Partial | Final]:
        """A translation as it grows: a `Partial` after each step, then `Final` with the whole."""
        return super().stream(text, **self.asked(options))

    def trace(self, text: str, target: str | None = None, **options: Any) -> Trace:
        """Everything the model computes while it translates a text, or while it writes the target given."""
        return make_trace(
            (self._plain or self).seeing("trace"), text, target=target, options=options, ops=self.ops
        )

    def forward_pass(self, text: str, target: str | None = None) -> ForwardPass:
        """Every tensor from the ids to the loss: embeddings, positions, Q, K, V, scores, sums, norms, logits.

        `target` is what the model is to write, given to it token by token; without one its own answer.
        """
        return forward_pass(self.on_torch("forward_pass"), text, target)

    def training_step(  # noqa: PLR0913  all but one have defaults
        self,
        text: str,
        target: str | None = None,
        *,
        optimizer: str = "adam",
        lr: float = 1e-3,
        steps: int = 0,
        token: int | None = None,
        weight: str = W_OUT,
        index: Sequence[int] | None = None,
        rates: Sequence[float] = (),
        weight_decay: float | None = None,
        progress: Progress = silent,
    ) -> TrainingStep:
        """One update by one pair, on a copy of the model: loss, gradients, one weight before and after.

        The optimiser is sgd, adam or adamw, as the trainer has them; `steps` updates by the same pair go
        before it. Gradients are shown at one target `token` and one `weight` (a parameter's name, or W_out;
        `index` says which number of it); without them where they are largest. `rates` asks for the loss after
        the same update at other rates.
        """
        own = self.on_torch("training_step")
        from jumok.training.by_hand import StepPlan, training_step

        plan = StepPlan(optimizer, lr, steps, token, weight, index, rates, weight_decay)
        return training_step(own, text, target, plan, progress)

    def free_running(
        self, text: str, target: str, *, slip: int | None = None, wrong: int | str | None = None
    ) -> FreeRunning:
        """A target after the right tokens (teacher forcing) beside what the model writes after its own.

        With a place to `slip` also after one wrong token there: an id, or the token itself; without it the
        most probable wrong one.
        """
        return free_running(self.on_torch("free_running"), text, target, slip=slip, wrong=wrong)

    def neighbours(
        self, text: str, target: str | None = None, *, count: int = 5, points: bool = False
    ) -> Neighbours:
        """Which training states are most like those of a text and its answer, or a target, token by token.

        The model needs an index of them: `jumok neighbours -m MODEL --data NAME`. With `points` all of its
        states come along, placed on a map of the two directions in which they spread most.
        """
        return neighbours(self, text, target, count=count, points=points)

    def votes(self, text: str, target: str | None = None) -> Votes:
        """What each member of an ensemble wanted at every step of its answer, or of a target."""
        return votes(self.on_torch("votes"), text, target)

    def gradients(
        self,
        text: str,
        target: str | None = None,
        *,
        lengths: Sequence[int] = (),
        fresh: int | None = None,
        directions: Literal[1, 2] | None = None,
    ) -> Gradients:
        """How strongly the loss of a target, or of the model's own answer, depends on each source token.

        `lengths` measures again with the text's tokens repeated and cut to so many. `fresh` is a seed of
        weights that nobody has trained; a recurrent encoder may then read in one or two `directions`.
        """
        plain = self.on_torch("gradients")
        return gradients(plain, text, target, lengths=lengths, fresh=fresh, directions=directions)

    def what_if(self, text: str, ops: Sequence[Op], **options: Any) -> WhatIf:
        """The translation of a text as it is and with interventions, and where the two part."""
        return what_if(self, text, ops, **options)

    def edit(self, *ops: Op) -> Self:
        """The same model with interventions inside, on top of those it has; nothing is copied.

        It is a context manager, so that it reads well: `with model.edit(mask_head("cross", 1, 0)) as edited:`
        """
        plain, every = self._plain or self, (*self.ops, *ops)
        for n, op in enumerate(ops):
            if not isinstance(op, Intervention):
                raise TypeError(
                    f"intervention {n + 1} is of type {type(op).__name__}, such as mask_head() makes"
                )
            if isinstance(op, ReplaceSource):
                raise bad_parameter(
                    "replace_source changes a text, and no text is here",
                    hint="give it to what_if, or change the text itself",
                )
        brought: dict[str, Any] = {}
        tags = sum(plain.tokenizers.frame.around)
        longest = range(plain.config.data.max_length + tags)  # positions are checked against the longest text
        other = plain.edited(compile_edits(every, plain, longest, brought), ops_to_json(every))
        other.ops, other._plain, other._brought = every, plain, brought
        return other

    def positions(self, count: int = 64) -> Array | None:
        """What each of the first positions adds to a source token, [count, width]; None without such rows."""
        return position_rows(self, count)

    def towards(self, to: str = "", from_language: str = "") -> Self:
        """The same model for one of its directions, its interventions included; nothing is copied."""
        other = super().towards(to, from_language)
        if other is not self and self._plain is not None:
            other._plain = self._plain.towards(to, from_language)
        return other

    def asked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options together with those that the interventions bring."""
        if not self.ops:
            return dict(options)
        long = "error" if options.get("long") == "error" else "cut"
        asked = {**options, "long": long, "sentences": "as-is"}  # positions mean one sentence
        for name, value in self._brought.items():
            given = options.get(name) or ()
            before = (given,) if isinstance(given, str) else tuple(given)
            asked[name] = value if name == "prefix" else (*before, *value)
        return asked

    @contextmanager
    def explained(self, batch: Sequence[Job]) -> Iterator[None]:
        """The model's own troubles with these jobs as errors that say what to do."""
        with super().explained(batch):
            try:
                yield
            except ValueError as error:
                if not self.ops:
                    raise
                raise bad_parameter(
                    str(error), hint=NO_KEY
                ) from None  # a text too short for a row that is cut
