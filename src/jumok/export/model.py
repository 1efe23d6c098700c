"""`jumok.export_model`: what `jumok export` does, as one function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jumok.checkpoint.checkpoints import load_model
from jumok.export import make
from jumok.export.directions import check_tags, compared_in
from jumok.export.format import find_format
from jumok.export.make import ExportOrder, check_order
from jumok.export.parity import read_thresholds
from jumok.export.sample import SENTENCES, find_sample
from jumok.export.shortlist import training_data
from jumok.progress import Progress, silent


def export_model(  # noqa: PLR0913  most have a default
    model: str | Path,
    format: str,  # noqa: A002
    out: str | Path,
    *,
    type: str = "",  # noqa: A002
    source: str | Path = "",
    target: str | Path = "",
    sentences: int = SENTENCES,
    thresholds: Mapping[str, float | str] | None = None,
    languages: tuple[str, str] = ("", ""),
    shortlist: bool | Sequence[str | Path] = False,
    overwrite: bool = False,
    progress: Progress = silent,
    told: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Write a model for another program, let that answer, and give the certificate of how well they agree.

    Formats, types and thresholds are those of `jumok export`; `shortlist` may name the files to learn from.
    Raises a ThresholdError if they do not agree well enough. `told` hears what is compared on.
    """
    kind = type or find_format(format).TYPES[0]
    words = [f"{name}={value}" for name, value in (thresholds or {}).items()]
    order = ExportOrder(
        format,
        Path(out),
        kind,
        read_thresholds(kind, words),
        overwrite,
        languages,
        listed=read_thresholds("shortlist", words),
    )
    loaded = load_model(model)
    if shortlist:
        learned = () if shortlist is True else tuple(map(str, shortlist))
        order = replace(order, shortlist=training_data(loaded.config.data, learned))
    check_order(order, loaded.config, quantised=loaded.info.get("weights") == "int8")
    check_tags(format, loaded.tokenizers.frame)
    facing = compared_in(loaded, languages)
    sample = find_sample(facing.config.data, str(source), str(target), sentences)
    told(f"comparing on {len(sample.sources):,} sentences of {sample.name}")
    return make.export_model(loaded, order, sample, progress)
