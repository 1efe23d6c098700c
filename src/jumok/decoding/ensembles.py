"""Ensembles: several model folders opened as one model. Written A+B wherever a model is named.

All members read and write the same tokens; architectures and sizes may differ. The first one that attends to
its source leads: its settings say how texts are searched, and its attention where answers come from. A member
that is named twice counts twice.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from jumok.checkpoint.bundled import named_folder
from jumok.checkpoint.contents import Contents
from jumok.config import Mean
from jumok.decoding.engines import Engine, NativeEngine
from jumok.decoding.heads import head_of
from jumok.decoding.opening import Note, log, open_engine
from jumok.errors import ConfigError, ModelError, has_torch, nearest, needs_torch
from jumok.native.ensemble import MOST_MEMBERS, NativeEnsemble
from jumok.native.shortlist import Shortlist

if TYPE_CHECKING:
    from jumok.decoding.inside import Inside
    from jumok.decoding.torch_engine import TorchEngine

PLUS = "+"
Named = str | Path | Sequence[str | Path]
"""One model folder; or several, as a list or with a plus between them."""
OF_ONE_RUN = {"step", "score", "best"}
"""What is known of a single model, and of no ensemble that it is in."""


def member_folders(named: Named) -> list[str]:
    """The folders that a name means: itself if there is such a one, else what stands between its pluses."""
    if not isinstance(named, str | Path):
        folders = [str(one) for one in named]
        if not folders:
            raise ConfigError("an ensemble has no members", hint="name at least one model folder")
        return folders
    word = str(named)
    if PLUS not in word or named_folder(Path(word)).exists():
        return [word]
    folders = word.split(PLUS)
    if not all(part.strip() for part in folders):
        raise ConfigError(
            f"{word} names no ensemble: there is no folder on one side of a plus",
            hint="write the folders of its members with a plus between them: A+B",
        )
    return folders


def check_mean(name: str) -> Mean:
    """The name of a mean, if it is one."""
    for known in get_args(Mean):
        if name == known:
            return known  # type: ignore[no-any-return]
    raise ConfigError(f"there is no mean of {name!r}", hint=nearest(name, get_args(Mean)))


def open_models(
    named: Named,
    device: str | None = None,
    engine: str = "auto",
    note: Note = log.info,
    mean: str = "probabilities",
) -> Engine:
    """The engine of one model, or of an ensemble: native if every member is, else torch."""
    counts, chosen = Counter(member_folders(named)), check_mean(mean)
    if len(counts) > MOST_MEMBERS:
        raise ConfigError(f"{len(counts)} models are more than the {MOST_MEMBERS} that an ensemble may have")
    engines = {folder: open_engine(folder, device, engine, note) for folder in counts}
    if len(engines) == 1:
        return next(iter(engines.values()))
    contents = joint_contents({folder: one.contents for folder, one in engines.items()}, counts, chosen)
    members, weights = list(engines.values()), list(counts.values())
    native = [one for one in members if isinstance(one, NativeEngine)]
    if len(native) == len(members):
        return EnsembleEngine(native, contents, weights, chosen)
    if native:
        note("torch is used: some members of the ensemble are not for the native engine")
    return torch_ensemble(members, contents, weights, chosen)


def torch_ensemble(
    members: Sequence[Engine], contents: Contents, weights: Sequence[float], mean: Mean
) -> "TorchEngine":
    """The same members in torch."""
    from jumok.decoding.torch_engine import TorchEngine
    from jumok.models.ensemble import EnsembleSeq2Seq

    models = [member.to_torch().model for member in members]
    lead = next((n for n, member in enumerate(members) if leads(member.contents)), 0)
    return TorchEngine(EnsembleSeq2Seq(models, weights, mean, lead).eval(), contents)


class EnsembleEngine(NativeEngine):
    """Several models in the C library that are searched as one; whoever looks inside looks at torch."""

    sees = False

    @property
    def inside(self) -> "Inside":
        return self.to_torch().model

    def __init__(
        self, members: Sequence[NativeEngine], contents: Contents, weights: Sequence[float], mean: Mean
    ) -> None:
        order = sorted(range(len(members)), key=lambda n: not leads(members[n].contents))
        model = NativeEnsemble([members[n].model for n in order], [weights[n] for n in order], mean)
        super().__init__(model, contents, strict=any(member.strict for member in members))
        self.members, self.weights, self.mean = list(members), weights, mean

    @property
    def shortlist(self) -> Shortlist:
        raise ConfigError(
            "a shortlist is of one model, and this is an ensemble",
            hint="leave out --shortlist",
            code="no_shortlist",
        )

    def to_torch(self, what: str = "the torch engine") -> "TorchEngine":
        if not has_torch():
            raise needs_torch(what)
        with self._lock:
            if self._torch is None:
                self._torch = torch_ensemble(self.members, self.contents, self.weights, self.mean)
            return self._torch


def leads(contents: Contents) -> bool:
    """Whether a model can say where its answers come from."""
    return head_of(contents.config, contents.info) is not None


def joint_contents(members: Mapping[str, Contents], counts: Mapping[str, int], mean: Mean) -> Contents:
    """What is known of the ensemble of these folders; a ModelError if they cannot be one."""
    (name, first), *others = members.items()
    for other_name, other in others:
        check_pair(name, first, other_name, other)
    total = sum(counts.values())
    found = [about(folder, contents, counts[folder] / total) for folder, contents in members.items()]
    leader = next(filter(leads, members.values()), first)
    known = {key: value for key, value in leader.info.items() if key not in OF_ONE_RUN}
    marks = sorted(f"{one['fingerprint']} {one['weight']}" for one in found)
    info = {
        **known,
        "name": PLUS.join(one["name"] for one in found),
        "parameters": sum(one["parameters"] for one in found),
        "fingerprint": hashlib.sha256(" ".join([mean, *marks]).encode()).hexdigest(),
        "members": found,
        "mean": mean,
    }
    longest = min(contents.config.data.max_length for contents in members.values())
    config = replace(leader.config, data=replace(leader.config.data, max_length=longest))
    return Contents(first.tokenizers, config, Path(PLUS.join(members)), info)


def about(folder: str, contents: Contents, weight: float) -> dict[str, Any]:
    """One member as the information about an ensemble has it; of a run, not its checkpoint."""
    return {
        "name": Path(folder).resolve().name,
        "arch": contents.config.model.arch,
        "weight": weight,
        "parameters": int(contents.info.get("parameters", 0)),
        "fingerprint": str(contents.info.get("fingerprint", "")),
    }


def check_pair(name: str, one: Contents, other_name: str, other: Contents) -> None:
    """Refuse two models that cannot be in one ensemble, and say in what they differ."""
    if difference := differing(one, other):
        raise ModelError(
            f"{name} and {other_name} cannot be an ensemble: {difference}",
            hint="members read and write the same tokens: train them with the same data and text settings",
            code="other_vocabulary",
        )


def differing(one: Contents, other: Contents) -> str:
    """What keeps two models from being in one ensemble; "" if nothing does."""
    ours, theirs = one.tokenizers, other.tokenizers
    if ours.fingerprint != theirs.fingerprint:
        for side in ("source", "target"):
            mine, its = getattr(ours, side), getattr(theirs, side)
            if mine.fingerprint != its.fingerprint:
                pair = [f"{one.size:,} tokens with SHA-256 {one.fingerprint[:12]}…" for one in (mine, its)]
                return f"their {side} vocabularies differ: {' and '.join(pair)}"
        return "other tokens stand around their sentences, such as those of languages"
    pairs = [(data.source_language, data.target_language) for data in (one.config.data, other.config.data)]
    for mine_code, its_code in zip(*pairs, strict=True):
        if mine_code and its_code and mine_code != its_code:
            return f"one translates {pairs[0][0]} to {pairs[0][1]}, the other {pairs[1][0]} to {pairs[1][1]}"
    return ""
