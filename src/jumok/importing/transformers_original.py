"""A folder of `transformers`, opened by that package itself: what our model has to agree with."""

import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from jumok.importing.incoming import Logits


class TransformersOriginal:
    """The model and the tokenizer in float32, on the CPU."""

    def __init__(self, folder: Path) -> None:
        # By name: the package is large, and type checkers need not read it.
        package: Any = import_module("transformers")
        quiet: Any = import_module("transformers.utils.logging")
        shown = quiet.is_progress_bar_enabled()
        level = quiet.get_verbosity()
        quiet.disable_progress_bar()
        quiet.set_verbosity_error()
        self.name = f"transformers {version('transformers')}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._model: Any = package.AutoModelForSeq2SeqLM.from_pretrained(
                    folder, local_files_only=True, dtype=torch.float32, attn_implementation="eager"
                ).eval()
                self._tokenizer: Any = package.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        finally:
            quiet.set_verbosity(level)
            if shown:
                quiet.enable_progress_bar()

    def tokens(self, texts: Sequence[str]) -> list[list[int]] | None:
        found: list[list[int]] = [
            self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
            for text in texts
        ]
        return found

    @torch.inference_mode()
    def logits(self, source: Sequence[int], target: Sequence[int]) -> Logits | None:
        """Of every token after each of the target's (T, V)."""
        made = self._model(
            input_ids=torch.tensor([list(source)]),
            decoder_input_ids=torch.tensor([list(target)]),
            use_cache=False,
        )
        numbers: Logits = made.logits[0].float().numpy()
        return numbers

    def scores(self, source: Sequence[int], target: Sequence[int]) -> list[float]:
        """Log-probabilities of the target's tokens after the first, the start."""
        logits = torch.from_numpy(self.logits(source, target[:-1]))
        wanted = torch.tensor(list(target[1:]))
        return logits.log_softmax(1).gather(1, wanted[:, None]).flatten().tolist()
