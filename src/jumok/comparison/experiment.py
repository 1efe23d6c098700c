"""An experiment before its first training: data prepared once, sizes matched, what was asked written down.

Opened again, it is the same experiment: settings are read back, and what would make it another is refused.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jumok.checkpoint.folder import replace_file
from jumok.comparison.budget import Budget, count, fit, steps_for
from jumok.comparison.entry import (
    METRICS,
    VALIDATION,
    ComparisonEntry,
    MeasureOptions,
    TestPairs,
    read_test,
    validation_pairs,
)
from jumok.comparison.plan import Variant, flat, given_for, make_entries, own_settings
from jumok.config import ARCHS, Arch, RunConfig
from jumok.data.reader import CheckReport
from jumok.data.store import Store
from jumok.data.survey import text_hash
from jumok.errors import ConfigError
from jumok.progress import Progress, silent
from jumok.run.corpora import Corpora, open_corpora, read_corpora
from jumok.run.folder import FREE
from jumok.run.machine import Machine, look_at_machine
from jumok.run.plan import make_plan
from jumok.run.prepare import Prepared, prepare
from jumok.run.report import check_command
from jumok.seals import sealed, unsealed
from jumok.settings import Flat, check_given, check_names, nest, parse_config
from jumok.text.normalize import tidy

RECORD, TEST, DATA, ENTRIES = "experiment.json", "test.json", "data", "entries"
FORMAT = "jumok-experiment/1"
COMMON = ("text.", "data.", "seed", "training.batch_tokens", "training.metric")
TIMES, SHORT = {"training.warmup", "training.validate_every", "training.save_every"}, 4
PICTURES = "sources are pictures: length, attention, influence, growth and memory of training are left out"
NO_TEST = "no test files are given: tested on the validation pairs, which also chose the best checkpoint"


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest:
    """What someone asks of an experiment; everything else is planned."""

    out: Path
    given: Flat  # settings by full name, as the user gave them
    archs: tuple[Arch, ...] = ARCHS
    seeds: tuple[int, ...] = ()  # none for the settings' own
    variants: tuple[Variant, ...] = ()
    budget: Budget = field(default_factory=Budget)
    match: bool = True
    test_source: str = ""
    test_target: str = ""
    metrics: tuple[str, ...] = ()  # none for those that suit what training looks at
    device: str | None = None
    bootstrap: int = 1000


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything that is known before the first training."""

    request: ComparisonRequest
    bases: Mapping[Arch, Flat]  # complete settings of each architecture
    entries: tuple[ComparisonEntry, ...]
    test: TestPairs
    options: MeasureOptions
    prepared: Prepared
    machine: Machine
    data_seed: int
    fingerprint: str  # of the training and validation text
    notes: tuple[str, ...] = ()

    @property
    def out(self) -> Path:
        return self.request.out


def open_experiment(request: ComparisonRequest, progress: Progress = silent) -> Experiment:
    """Plan the experiment, or read back what an earlier sitting planned."""
    planner = ExperimentPlanner(request, progress)
    planner.check()
    pairs = read_test(request.test_source, request.test_target, planner.config)
    bases = planner.bases()
    test = pairs or validation_pairs(planner.prepared)
    first = bases[request.archs[0]]
    metrics = request.metrics or METRICS[first["training.metric"]]
    chosen, seeds = {arch: bases[arch] for arch in request.archs}, request.seeds or (first["seed"],)
    record = sealed({"format": FORMAT, "asked": planner.question, "bases": bases})
    replace_file(request.out / RECORD, json.dumps(record, ensure_ascii=False, indent=1).encode() + b"\n")
    replace_file(request.out / TEST, json.dumps(asdict(test), ensure_ascii=False).encode())
    return Experiment(
        request=request,
        bases=chosen,
        entries=tuple(make_entries(chosen, seeds, request.variants, shorter(planner.prepared.train))),
        test=test,
        options=MeasureOptions(metrics=metrics, device=request.device, bootstrap=request.bootstrap),
        prepared=planner.prepared,
        machine=planner.machine,
        data_seed=planner.text.seed,
        fingerprint=planner.corpora.fingerprint,
        notes=tuple(planner.notes(test, given=pairs is not None)),
    )


def shorter(store: Store) -> int:
    """Tokens of the longer side that 60 of 100 training pairs do not exceed."""
    return int(np.quantile(np.maximum(store.source_lengths, store.target_lengths), 0.6))


@dataclass
class ExperimentPlanner:
    """The steps towards an experiment. Mistakes are found before anything is made."""

    request: ComparisonRequest
    progress: Progress

    @cached_property
    def config(self) -> RunConfig:
        """The settings without sizes: enough to open the data."""
        request = self.request
        check_names(request.given, "your settings")
        return check_given(given_for(request.archs[0], request.given, request.archs))

    @cached_property
    def corpora(self) -> Corpora:
        return open_corpora(self.config)

    @cached_property
    def found(self) -> CheckReport:
        return read_corpora(self.corpora, self.progress)

    @cached_property
    def machine(self) -> Machine:
        return look_at_machine(self.request.device)

    @cached_property
    def record(self) -> dict[str, Any]:
        """What an earlier sitting has written; nothing for a new experiment."""
        file = self.request.out / RECORD
        if not file.is_file():
            return {}
        try:
            record: dict[str, Any] = unsealed(json.loads(file.read_bytes()))
            if record["format"] != FORMAT:
                raise ValueError(record["format"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ConfigError(
                f"{file} is not the record of an experiment, or was changed",
                hint="choose another folder with --out",
            ) from None
        return record

    def notes(self, test: TestPairs, *, given: bool) -> Iterator[str]:
        """What people should know before it starts."""
        if self.record:
            yield f"goes on with the experiment in {self.request.out}"
        if not given:
            yield NO_TEST
        if self.prepared.tokenizers.pictures is not None:
            yield PICTURES
        if not self.record and (summary := self.found.summary()):
            yield f"data: {summary}: {check_command(self.request.given)} shows more"
        held_out = test.name == VALIDATION and self.corpora.valid is None
        if not self.record and not held_out:  # told once, when the text is read anyway
            trained = set(self.found.train.source_hashes.tolist())
            known = sum(text_hash(tidy(source)) in trained for source in test.sources)
            if known:
                yield f"{known:,} of the {len(test):,} test sources are training sources, too"

    def check(self) -> None:
        """Refuse a folder that holds something else, or another experiment."""
        out = self.request.out
        if out.exists() and not out.is_dir():
            raise ConfigError(f"{out} is a file", hint="give a folder for the experiment with --out")
        if not self.record:
            if out.is_dir() and any(out.iterdir()):
                raise ConfigError(
                    f"{out} is not empty and holds no experiment",
                    hint="choose another folder with --out, or empty this one",
                    code="not_an_experiment",
                )
            return
        before, now = self.record["asked"], self.question
        for key in dict.fromkeys((*before, *now)):
            if before.get(key) != now.get(key):
                raise ConfigError(
                    f"the experiment in {out} was started with {key}={shown(before.get(key))}, "
                    f"not {shown(now.get(key))}",
                    hint="repeat the first command to go on, or choose another --out",
                    code="other_settings",
                )

    @cached_property
    def question(self) -> dict[str, Any]:
        """What makes an experiment another one; architectures, seeds and ablations may be added to it."""
        request = self.request
        fixed = {key: value for key, value in sorted(request.given.items()) if key not in FREE}
        about = {"budget": asdict(request.budget), "match": request.match, "data": self.corpora.fingerprint}
        return fixed | about

    def bases(self) -> dict[Arch, Flat]:
        """Complete settings of each architecture: those of before, and plans for the new ones."""
        known: dict[Arch, Flat] = dict(self.record.get("bases", {}))
        new = [arch for arch in self.request.archs if arch not in known]
        if not new:
            return known
        drafts = {arch: self.draft(arch) for arch in new}
        target = self.target(known, drafts) if self.request.match else None
        planned = {arch: flat(self.planned(arch, drafts[arch], target)) for arch in new}
        return {arch: (known | planned)[arch] for arch in ARCHS if arch in known | planned}

    def draft(self, arch: Arch, more: Mapping[str, Any] | None = None) -> RunConfig:
        """What the plan of a single run makes of the settings for this architecture."""
        given = given_for(arch, self.request.given, self.request.archs) | self.request.budget.settings()
        given = {"training.align": 0.0} | given | self.common | dict(more or {})  # no one has a teacher more
        for key in TIMES - self.request.given.keys():  # what suits the data suits no run that is over before
            if given.get(key, 0) * SHORT > given["training.max_steps"]:
                del given[key]
        return make_plan(given, self.found.train, self.machine).config

    @property
    def common(self) -> Flat:
        """What an architecture that joins later has in common with those that are there."""
        settings: Flat = next(iter(self.record.get("bases", {}).values()), {})
        return {key: value for key, value in settings.items() if key.startswith(COMMON)}

    @cached_property
    def text(self) -> RunConfig:
        """Settings of which those of text and data are the same for all."""
        settings = next(iter(self.record.get("bases", {}).values()), None)
        return parse_config(nest(settings), RECORD) if settings else self.draft(self.request.archs[0])

    @cached_property
    def prepared(self) -> Prepared:
        """Tokenizer and stores that all entries share."""
        self.request.out.mkdir(parents=True, exist_ok=True)
        return prepare(
            self.request.out / DATA,
            self.corpora,
            self.text,
            lambda: self.found,
            fingerprint=self.corpora.fingerprint,
            processes=self.machine.cores,
            progress=self.progress,
        )

    def target(self, known: Mapping[Arch, Flat], drafts: Mapping[Arch, RunConfig]) -> int:
        """How many parameters all should have: those of a model that stands, else the Transformer's.

        The Transformer's width is the coarsest. Settings that name an architecture speak of its size.
        """
        configs = {arch: parse_config(nest(settings), RECORD) for arch, settings in known.items()} or drafts
        own = self.request.given.get("model.arch")
        arch = next((one for one in configs if one == own), [one for one in ARCHS if one in configs][-1])
        return count(configs[arch].model, self.prepared.tokenizers)

    def planned(self, arch: Arch, draft: RunConfig, target: int | None) -> RunConfig:
        """The plan with the width that the target asks for, and with the steps that the FLOPs are worth."""
        request, tokenizers, more = self.request, self.prepared.tokenizers, dict[str, Any]()
        own = own_settings(arch, request.given, request.archs)
        if target is not None and "model.width" not in own and count(draft.model, tokenizers) != target:
            model = fit(draft.model, target, tokenizers, inner="model.feedforward" not in own)
            more["model.width"] = model.width
            if model.arch == "transformer":
                more["model.feedforward"] = model.feedforward
            draft = self.draft(arch, more)
        if request.budget.kind == "flops":
            steps = steps_for(request.budget.value, draft, self.prepared.train, tokenizers)
            draft = self.draft(arch, more | request.budget.settings(steps))
        return draft


def data_folder(out: Path, entry: ComparisonEntry) -> Path:
    """Where the entry's tokenizer and stores are: with those of all, unless an ablation changes the data."""
    changed = [str(value) for key, value in entry.changes.items() if key.startswith(("data.", "text."))]
    return out / "-".join((DATA, *changed))


def shown(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)
