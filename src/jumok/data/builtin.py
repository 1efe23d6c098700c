"""The data sets that come with the package: their names, what they are, and their files."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

from jumok.data.corpus import Corpus, open_corpus
from jumok.errors import ConfigError, nearest

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinInfo:
    """What a built-in data set is, and how many pairs each split has."""

    name: str
    description: str
    source_language: str
    target_language: str
    licence: str
    train: int
    valid: int
    test: int

    @property
    def sizes(self) -> dict[Split, int]:
        return {"train": self.train, "valid": self.valid, "test": self.test}


BUILTIN: dict[str, BuiltinInfo] = {
    info.name: info
    for info in (
        BuiltinInfo(
            name="dates",
            description="Written dates, times and spans in 20 languages, Korean among them, to ISO 8601.",
            source_language="mul",
            target_language="iso8601",
            licence="Apache-2.0 AND Unicode-3.0",
            train=48_000,
            valid=1_000,
            test=2_000,
        ),
        BuiltinInfo(
            name="homeassistant-ko-en",
            description="User-interface strings of Home Assistant, Korean to English.",
            source_language="ko",
            target_language="en",
            licence="Apache-2.0",
            train=17_004,
            valid=1_000,
            test=1_000,
        ),
    )
}


def builtin_info(name: str) -> BuiltinInfo:
    """The description of a built-in data set; the nearest name is offered for an unknown one."""
    if name not in BUILTIN:
        raise ConfigError(
            f"no built-in data set is called {name!r}", hint=nearest(name, BUILTIN), code="unknown_data"
        )
    return BUILTIN[name]


def builtin_corpus(name: str, split: Split) -> Corpus:
    """One split of a built-in data set."""
    builtin_info(name)
    if split not in SPLITS:
        raise ConfigError(f"{name} has no split {split!r}", hint=nearest(split, SPLITS), code="unknown_split")
    return open_corpus(str(builtin_file(name, split)))


def builtin_file(name: str, split: Split) -> Path:
    """Where a split's file lies inside the installed package."""
    return Path(str(files("jumok.data") / "sets" / name / f"{split}.tsv.gz"))
