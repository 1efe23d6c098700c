"""A model's languages in an export: which format holds its tags, and in which direction it is compared."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

from jumok.checkpoint.model import LoadedModel
from jumok.data.corpus import open_corpus
from jumok.data.corpus_spec import parse_spec
from jumok.data.forms import Pair
from jumok.errors import ConfigError
from jumok.export.format import Answerer
from jumok.export.native import NativeAnswerer
from jumok.text.frame import PLAIN, Direction, Frame


def check_tags(name: str, frame: Frame) -> None:
    """Refuse a format that would lose what stands around a sentence."""
    fixed = name == "huggingface" and not frame.slots  # its tokenizer and its search are told
    if name == "native" or fixed or (frame.source, frame.target) == (PLAIN.source, PLAIN.target):
        return
    around = " ".join(frame.source)
    begins = f", and answers begin with {' '.join(frame.target)}" if frame.target else ""
    raise ConfigError(
        f"this model cannot be exported to {name}: it reads a sentence as {around}{begins}, and {name} would "
        "not know which tokens these are",
        hint="export it to native, which keeps them; jumok runs the folder as it is",
        code="unsupported",
    )


def compared_in(loaded: LoadedModel, languages: tuple[str, str]) -> LoadedModel:
    """The model for the direction in which it is compared: the one that is named, else its first."""
    frame = loaded.tokenizers.frame
    if not frame.languages:
        return loaded
    source, target = (code.partition("=")[0] for code in languages)
    chosen = frame.choose(source, target) if source or target else first_direction(loaded)
    data = replace(loaded.config.data, source_language=chosen.source, target_language=chosen.target)
    config = replace(loaded.config, data=data)
    return replace(loaded, tokenizers=loaded.tokenizers.towards(chosen), config=config)


def first_direction(loaded: LoadedModel) -> Direction:
    """That of the first corpus that says one, else the first that the model has."""
    known = loaded.tokenizers.frame.directions
    said = [parse_spec(one).direction for one in loaded.config.data.corpora]
    return next((one for one in said if one in known), known[0])


def begin_alike(answerer: Answerer, loaded: LoadedModel) -> Answerer:
    """An opened export whose answers begin as those of the model do."""
    if isinstance(answerer, NativeAnswerer):
        answerer.opening = loaded.tokenizers.opening
    return answerer


def corpus_pairs(lines: tuple[str, ...], direction: Direction, most: int) -> tuple[str, list[Pair]] | None:
    """Pairs of the first of several corpora that goes in this direction and is still there, and its name."""
    for spec in map(parse_spec, lines):
        if spec.direction in (direction, Direction()) and not spec.alone and Path(spec.source).is_file():
            return spec.name, list(islice(open_corpus(spec.source, spec.target).pairs(), most))
    return None
