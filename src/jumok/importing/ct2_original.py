"""A folder of CTranslate2, opened by that library itself: what our model has to agree with."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jumok.errors import ModelError
from jumok.importing.incoming import Logits


class Ct2Original:
    """The model in float32, on one thread. It gives scores, and no logits."""

    def __init__(
        self, folder: Path, source: Sequence[str], target: Sequence[str], settings: Mapping[str, Any]
    ) -> None:
        import ctranslate2

        self.name = f"ctranslate2 {version('ctranslate2')}"
        self._source, self._target = source, target
        self._adds_begin, self._adds_end = settings.get("add_source_bos"), settings.get("add_source_eos")
        try:
            self._translator: Any = ctranslate2.Translator(
                str(folder), compute_type="float32", inter_threads=1, intra_threads=1
            )
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"ctranslate2 cannot open the model: {error}", where=str(folder)) from None

    def tokens(self, texts: Sequence[str]) -> list[list[int]] | None:
        return None  # it cuts no texts

    def logits(self, source: Sequence[int], target: Sequence[int]) -> Logits | None:
        return None

    def scores(self, source: Sequence[int], target: Sequence[int]) -> list[float]:
        """Log-probabilities of the target's tokens behind the start, with that of the end."""
        left = [self._source[n] for n in source]
        left = left[1:] if self._adds_begin and left[:1] == ["<s>"] else left
        left = left[:-1] if self._adds_end and left[-1:] == ["</s>"] else left  # it adds them itself
        right = [self._target[n] for n in target[1:]]
        ended = right[-1:] == ["</s>"]
        (found,) = self._translator.score_batch([left], [right[:-1] if ended else right])
        given: list[float] = list(found.log_probs)
        return given if ended else given[:-1]
