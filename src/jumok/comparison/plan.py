"""Which models an experiment compares: settings for each architecture, and one entry for each of
architectures x seeds x ablations. An ablation is a change of settings and nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from jumok.comparison.budget import Budget
from jumok.comparison.entry import ComparisonEntry
from jumok.config import ARCHS, Arch, LuongConfig, RnnConfig, RunConfig, TransformerConfig
from jumok.errors import ConfigError, nearest
from jumok.settings import Flat, config_to_dict, flatten, nest, parse_config

# Each name stands for one entry or more: what is added to the entry's name, and the settings it changes.
ABLATIONS: Mapping[str, Mapping[str, Flat]] = {
    "no-scale": {"no-scale": {"model.scaled": False}},
    "no-residual": {"no-residual": {"model.residual": False}},
    "no-norm": {"no-norm": {"model.norm": "none"}},
    "one-head": {"one-head": {"model.heads": 1}},
    "positions": {  # each learns from the shorter pairs alone, and is tested on all
        "sinusoidal-positions": {"model.positions": "sinusoidal"},
        "learned-positions": {"model.positions": "learned"},
        "rotary-positions": {"model.positions": "rotary"},
        "no-positions": {"model.positions": "none"},
    },
    "forcing": {
        f"forcing-{share}": {"training.teacher_forcing": share, "training.rollout": share < 1}
        for share in (1.0, 0.5, 0.0)
    },
}

# What the plan of a single run would give to one architecture and not to another.
SAME: Flat = {"text.dropout": 0.0, "training.rdrop": 0.0, "training.ema": 0.0}

SIZES = {"model.width", "model.layers", "model.encoder_layers", "model.decoder_layers", "model.heads"} | {
    "model.feedforward"
}

# What tells the fixed vector from attention is attention alone: both read the source in both directions.
ENCODER: Mapping[Arch, Flat] = {
    "rnn": {"model.bidirectional": True},
    "luong": {"model.bidirectional": True},
    "transformer": {},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """Settings found by hand for a built-in set, and a number of updates that is the same for all.

    Steps, not seconds: a machine that is busy, or slow, makes the same number of them.
    """

    steps: int
    common: Flat
    own: Mapping[Arch, Flat]


DATES_COMMON: Flat = {
    "data.max_length": 96,
    "text.vocabulary": 1700,
    "model.dropout": 0.0,
    "training.warmup": 100,
    "training.label_smoothing": 0.0,
    "training.schedule": "constant",
    "training.cooldown": 1.0,
    "training.metric": "exact",
    "training.threads": 1,  # a recurrent step is small: more threads would only wait for each other
    "decoding.beam": 1,
}
TUNED: Mapping[str, Tuned] = {
    "dates": Tuned(  # about 1.2 million parameters each
        steps=1800,
        common=DATES_COMMON
        | {
            "text.shared": False,  # digits and a few signs: a small head
            "training.batch_tokens": 1500,
            "training.valid_sentences": 100,
            "training.validate_every": 450,
            "training.save_every": 450,
        },
        own={
            "rnn": {"model.cell": "lstm", "training.lr": 3e-3},
            "luong": {"model.cell": "lstm", "training.lr": 4e-3},
            "transformer": {
                "model.encoder_layers": 2,
                "model.decoder_layers": 2,
                "model.width": 128,
                "model.heads": 4,
                "model.feedforward": 512,
                "model.norm": "pre",
                "training.lr": 3e-3,
                "training.threads": 2,
            },
        },
    ),
    "dates-cjk": Tuned(  # the demo
        steps=2000,
        common=DATES_COMMON
        | {
            "training.batch_tokens": 1000,
            "training.valid_sentences": 150,
            "training.validate_every": 500,
            "training.save_every": 500,
        },
        own={
            "rnn": {"model.cell": "gru", "training.lr": 3e-3},
            "luong": {"model.cell": "gru", "training.lr": 3e-3},
            "transformer": {
                "model.encoder_layers": 2,
                "model.decoder_layers": 2,
                "model.width": 88,
                "model.heads": 4,
                "model.feedforward": 352,
                "model.norm": "pre",
                "training.lr": 3e-3,
            },
        },
    ),
}


@dataclass(frozen=True, slots=True)
class Variant:
    """An ablation of one architecture, or of all that have its settings."""

    name: str
    arch: Arch | None = None


def choose_budget(named: Mapping[str, Budget | None], given: dict[str, Any]) -> Budget:
    """The one budget that is given, by an option or by a setting; each entry has it for itself.

    `named` has the budgets by the names of their options. Settings that give one are taken out of `given`.
    """
    chosen = {option: budget for option, budget in named.items() if budget}
    if len(chosen) > 1:
        raise ConfigError(f"{' and '.join(chosen)} exclude each other", hint="give one budget")
    time, updates = given.pop("training.time_limit", 0), given.pop("training.max_steps", 0)
    if chosen:
        return next(iter(chosen.values()))
    if time or updates:
        return Budget("time", float(time)) if time else Budget("steps", int(updates))
    tuned = TUNED.get(str(given.get("data.name", "")))
    return Budget("steps", tuned.steps) if tuned else Budget()


def read_archs(text: str) -> tuple[Arch, ...]:
    """`rnn,luong,transformer`, each once, in the order rnn, luong, transformer."""
    words = _words(text, "--archs", "rnn,luong,transformer")
    for word in words:
        if word not in ARCHS:
            raise ConfigError(
                f"unknown architecture {word!r}",
                where="--archs",
                hint=nearest(word, ARCHS),
                code="unknown_arch",
            )
    return tuple(arch for arch in ARCHS if arch in words)


def read_seeds(text: str) -> tuple[int, ...]:
    """`1,2,3`, each once."""
    words = _words(text, "--seeds", "1,2,3")
    if not all(word.isdecimal() for word in words):
        raise ConfigError(f"--seeds={text} cannot be read", hint="give whole numbers, such as 1,2,3")
    return tuple(dict.fromkeys(map(int, words)))


def read_ablations(text: str, archs: Sequence[Arch]) -> tuple[Variant, ...]:
    """`no-scale,rnn:forcing`: names of ABLATIONS, each for one of the architectures or for all that can."""
    found = []
    for word in _words(text, "--ablate", "no-scale,no-norm"):
        arch, colon, name = word.rpartition(":")
        if colon and arch not in archs:
            raise ConfigError(f"--ablate {word}: {arch!r} is not compared", hint=f"known: {', '.join(archs)}")
        if name not in ABLATIONS:
            raise ConfigError(
                f"unknown ablation {name!r}",
                where="--ablate",
                hint=nearest(name, ABLATIONS),
                code="unknown_ablation",
            )
        one = Variant(name, next((known for known in archs if known == arch), None))
        if not able(one, archs):
            able_ones = [known for known in ARCHS if able(Variant(name), (known,))]
            raise ConfigError(
                f"--ablate {word}: {arch or ', '.join(archs)} has nothing to take away",
                hint=f"it is about {', '.join(able_ones)}",
            )
        found.append(one)
    return tuple(dict.fromkeys(found))


def _words(text: str, option: str, example: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise ConfigError(f"{option} names nothing", hint=f"for example {option} {example}")
    return words


def settings_of(arch: Arch) -> frozenset[str]:
    """The model settings that an architecture has, by full name."""
    kinds = {"rnn": RnnConfig, "luong": LuongConfig, "transformer": TransformerConfig}
    return frozenset(f"model.{one.name}" for one in fields(kinds[arch]))


def able(variant: Variant, archs: Sequence[Arch]) -> list[Arch]:
    """The architectures that have the settings which the ablation changes."""
    keys = {key for changes in ABLATIONS[variant.name].values() for key in changes}
    models = {key for key in keys if key.startswith("model.")}
    return [arch for arch in archs if variant.arch in (None, arch) and models <= settings_of(arch)]


def own_settings(arch: Arch, given: Flat, archs: Sequence[Arch]) -> Flat:
    """Of what the user has set, what concerns this architecture.

    A model setting goes to every architecture that has it. Sizes from settings that name an architecture
    are that one's own.
    """
    known = {key for one in archs for key in settings_of(one)}
    other = {key for key in given if key in known and key not in settings_of(arch)}
    if given.get("model.arch", arch) != arch:
        other |= SIZES
    return {key: value for key, value in given.items() if key not in other} | {"model.arch": arch}


def given_for(arch: Arch, given: Flat, archs: Sequence[Arch]) -> Flat:
    """The user's settings above those that suit the data."""
    tuned = TUNED.get(str(given.get("data.name", "")))
    suited = tuned.common | tuned.own[arch] if tuned else {}
    return SAME | ENCODER[arch] | suited | own_settings(arch, given, archs)


def flat(config: RunConfig) -> Flat:
    return flatten(config_to_dict(config))


def make_entries(
    bases: Mapping[Arch, Flat], seeds: Sequence[int], variants: Sequence[Variant], short: int
) -> list[ComparisonEntry]:
    """Every model of the experiment: for each seed the plain ones, rnn first, and after them the ablations.

    `bases` has the complete settings of each architecture; `short` is the length, in tokens, of the longest
    pair that a model learns from which is to show what lies beyond the lengths of training.
    """
    plain = [_entry(arch, settings, seed) for seed in seeds for arch, settings in bases.items()]
    ablated = [
        one
        for variant in variants
        for seed in seeds
        for arch in able(variant, tuple(bases))
        for one in _ablated(_entry(arch, bases[arch], seed), variant.name, short)
    ]
    return list({one.name: one for one in (*plain, *ablated)}.values())


def _entry(arch: Arch, settings: Flat, seed: int) -> ComparisonEntry:
    """Of the settings' own seed it is named after the architecture alone."""
    name = arch if seed == settings["seed"] else f"{arch}-s{seed}"
    return ComparisonEntry(name=name, arch=arch, seed=seed, settings=settings | {"seed": seed})


def _ablated(plain: ComparisonEntry, name: str, short: int) -> Iterator[ComparisonEntry]:
    """The entries of one ablation; what would equal the plain entry is that entry."""
    less: Flat = {"data.max_length": short} if name == "positions" else {}
    for label, change in ABLATIONS[name].items():
        changes = {key: value for key, value in (change | less).items() if plain.settings[key] != value}
        settings: dict[str, Any] = plain.settings | changes
        if changes:
            parse_config(nest(settings), f"--ablate {name}")
            yield ComparisonEntry(
                name=f"{plain.name} {label}",
                arch=plain.arch,
                group=name,
                seed=plain.seed,
                changes=changes,
                settings=settings,
            )
