"""A model that is about to become ours: what was read of it, before anything is written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jumok.architectures import MOST
from jumok.config import DataConfig, DecodingConfig, RunConfig, TextConfig
from jumok.importing.blueprint import Blueprint
from jumok.importing.stored import Rows
from jumok.text.tokenizer import Tokenizers

LONGEST = 512  # tokens of a sentence where nothing limits them
Logits = NDArray[np.float32]


class Original(Protocol):
    """The model in its own program."""

    name: str
    """The program and its version."""

    def tokens(self, texts: Sequence[str]) -> list[list[int]] | None:
        """Its own numbers of each text's tokens, without those around them; None: it cuts no texts."""
        ...

    def logits(self, source: Sequence[int], target: Sequence[int]) -> Logits:
        """What it computes (T, V) for a source, with all that stands around it, and what was written so far,
        the start included. Both in its own numbers.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """All that is known of a model before it is written."""

    family: str
    """Such as "marian"."""
    program: str
    """Whose format it is in."""
    blueprint: Blueprint
    tokenizers: Tokenizers
    files: Mapping[str, str]
    """SHA-256 of each file that was read."""
    source_rows: Rows
    """Its own number of each of our tokens; -1: none."""
    target_rows: Rows
    open: Callable[[], Original] | None = None
    """Opens it in its own program; None: that has none to compare with."""
    needs: tuple[str, ...] = ()
    """The packages that `open` imports."""
    languages: tuple[str, str] = ("", "")
    beam: int = 0
    longest: int = LONGEST
    """Tokens of a side, with all that stands around them."""
    notes: Sequence[str] = field(default_factory=tuple)

    def run_config(self) -> RunConfig:
        """The settings of the folder: the model's, and for the rest what suits it."""
        model, frame = self.blueprint.config, self.tokenizers.frame
        around = len(frame.source) + len(frame.target) + 1
        limit = min(self.longest, model.table_rows or self.longest)
        length = max(limit - around, 1)
        vocabulary = max(self.tokenizers.source.size, self.tokenizers.target.size)
        usual = DecodingConfig()
        return RunConfig(
            model=model,
            text=TextConfig(vocabulary=max(vocabulary, 300), shared=self.tokenizers.shared),
            data=DataConfig(
                source_language=self.languages[0], target_language=self.languages[1], max_length=length
            ),
            decoding=replace(
                usual,
                beam=min(self.beam, MOST["decoding.beam"]) or usual.beam,
                max_len=min(usual.max_len, length),
            ),
        )
