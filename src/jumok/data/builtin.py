"""The data sets that come with the package: their names, what they are, and their files."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from jumok.config import DataConfig
from jumok.data.corpus import Corpus, CorpusRow, open_corpus
from jumok.data.pictures import with_pictures
from jumok.errors import ConfigError, nearest

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True)
class PartCorpus(Corpus):
    """The lines of a corpus whose source begins as a pattern says; they keep their numbers."""

    pattern: str = ""

    def rows(self, *, strict: bool = True) -> Iterator[CorpusRow]:
        begins = re.compile(self.pattern).match
        return (row for row in super().rows(strict=strict) if row.fault or begins(row.texts[0]))

    def fingerprint(self) -> str:
        return hashlib.sha256(f"{super().fingerprint()}\0{self.pattern}".encode()).hexdigest()


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
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What suits this set, by full name; the plan takes it where the user says nothing."""
    references: bool = False
    """Valid and test may have several answers to a source, each a column."""
    pictures: bool = False
    """The sources are pictures, in `images.zip` beside the files."""
    part_of: str = ""
    """The set whose files it shares; of those it has the pairs whose source begins as `pattern` says."""
    pattern: str = ""

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
            name="dates-cjk",
            description="The Chinese, Japanese and Korean dates of dates, which have the year first.",
            source_language="mul",
            target_language="iso8601",
            licence="Apache-2.0 AND Unicode-3.0",
            train=7_197,
            valid=150,
            test=300,
            part_of="dates",
            pattern=r"\D*\d{4}",  # the other 17 languages begin with the day, or with the clock
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
        BuiltinInfo(
            name="homeassistant-de-en",
            description="User-interface strings of Home Assistant, German to English.",
            source_language="de",
            target_language="en",
            licence="Apache-2.0",
            train=29_479,
            valid=1_000,
            test=1_000,
        ),
        BuiltinInfo(
            name="cmudict",
            description="English words and how they are said, as ARPAbet phonemes without stress.",
            source_language="en",
            target_language="arpabet",
            licence="BSD-2-Clause",
            train=117_950,
            valid=2_670,
            test=12_000,
            references=True,
            settings={
                "text.kind": "char",
                "text.target_kind": "word",
                "text.shared": False,
                "training.metric": "per",
            },
        ),
        BuiltinInfo(
            name="emoji-captions",
            description="Emoji as pictures of 32 pixels a side, and their English names.",
            source_language="",
            target_language="en",
            licence="Apache-2.0 AND Unicode-3.0",
            train=3_186,
            valid=300,
            test=300,
            pictures=True,
            settings={"image.patch": 8, "image.shift": 1, "model.dropout": 0.2, "training.metric": "exact"},
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
    file, several = builtin_file(name, split), BUILTIN[name].references and split != "train"
    corpus = open_corpus(str(file), columns="1,2+" if several else "")
    if pattern := BUILTIN[name].pattern:
        same = {one.name: getattr(corpus, one.name) for one in fields(corpus)}
        return PartCorpus(**same, pattern=pattern)
    return with_pictures(corpus, str(file.with_name("images.zip"))) if BUILTIN[name].pictures else corpus


def reads_pictures(data: DataConfig) -> bool:
    """Whether the sources of this data are pictures."""
    return bool(data.images) or (data.name in BUILTIN and BUILTIN[data.name].pictures)


def builtin_file(name: str, split: Split) -> Path:
    """Where a split's file lies inside the installed package."""
    folder = BUILTIN[name].part_of or name
    return Path(str(files("jumok.data") / "sets" / folder / f"{split}.tsv.gz"))
