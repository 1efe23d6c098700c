"""Our own engine for CPUs: a model folder with int8 weights, or in float32 with proof that both agree.

An int8 folder is a quarter of the size. `jumok translate` and its like take it as they take any model; what
the engine cannot do (docs/engines.md) is done by PyTorch, with the same weights.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from jumok.answers import Answer
from jumok.checkpoint.card import model_files
from jumok.checkpoint.contents import WEIGHTS
from jumok.checkpoint.model import LoadedModel, pack
from jumok.config import RunConfig, copies
from jumok.export.format import WriteOptions
from jumok.native.folder import WEIGHTS as PACKED
from jumok.native.folder import dump_parts, parse_parts
from jumok.native.library import why_not
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.shortlist import Shortlist
from jumok.native.tensors import parse_tensors
from jumok.native.weights import pack_weights
from jumok.settings import parse_config
from jumok.text.tokenizer import load_tokenizers

TYPES = ("int8", "float32")
NEEDS: tuple[str, ...] = ()
EXTRA = ""
FILE = False


def check(config: RunConfig) -> list[str]:
    """Why the engine cannot run such a model here."""
    copying = (
        "the native engine has no pointing at the source (model.copy=true)" if copies(config.model) else ""
    )
    arch = config.model.arch
    unknown = "" if copying or config.model.is_native else f"the native engine has no {arch} models"
    return [reason for reason in (why_not(), copying, unknown) if reason]


def write(loaded: LoadedModel, folder: Path, options: WriteOptions) -> None:
    """The files of a model folder; the weights packed as the kernels read them, or as they were."""
    progress, model = options.progress, loaded.model
    progress("writing for the native engine", 0, 1)
    known = {name: value for name, value in loaded.info.items() if name not in ("fingerprint", "parameters")}
    for name, data in model_files(loaded.config, loaded.tokenizers, known).items():
        (folder / name).write_bytes(data)
    if options.type == "float32":
        (folder / WEIGHTS).write_bytes(pack(dict(model.named_parameters()), WEIGHTS))
    else:
        arrays = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
        shared = loaded.tokenizers.shared
        parts = pack_weights(
            loaded.config.model, arrays, shared=shared, type="int8", where=str(loaded.folder)
        )
        (folder / PACKED).write_bytes(dump_parts(parts, str(loaded.info["fingerprint"])))
    progress("writing for the native engine", 1, 1)


def open(folder: Path, shortlist: Shortlist | None = None) -> "NativeAnswerer":  # noqa: A001
    """The model in a folder that has no certificate yet; it answers with the tokens of a shortlist."""
    tokenizers = load_tokenizers(folder)
    config = parse_config(json.loads((folder / "config.json").read_text(encoding="utf-8"))["jumok"]).model
    if (where := folder / PACKED).exists():
        sizes = tokenizers.source.size, tokenizers.target.size
        parts, _ = parse_parts(where.read_bytes(), config, sizes, str(where), shared=tokenizers.shared)
    else:
        where = folder / WEIGHTS
        arrays, _ = parse_tensors(where.read_bytes(), str(where))
        parts = pack_weights(config, arrays, shared=tokenizers.shared, where=str(where))
    return NativeAnswerer(NativeModel(config, parts, str(where)), shortlist)


class NativeAnswerer:
    """Answers through the C library."""

    def __init__(self, model: NativeModel, shortlist: Shortlist | None = None) -> None:
        self.model, self.shortlist = model, shortlist
        self.opening: tuple[int, ...] = ()
        """What every answer begins with."""
        self.lengths: list[int] = []
        """Tokens of each list so far."""

    def answer(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[Answer]:
        options = SearchOptions(beam=beam, length_penalty=length_penalty, keep=1)
        begins = [self.opening] * len(sources) if self.opening else None
        lists = None
        if self.shortlist is not None:
            lists = [self.shortlist.ids(source, self.opening) for source in sources]
        self.lengths += map(len, lists or ())
        found = self.model.search(sources, limits, options, prefixes=begins, shortlists=lists)
        return [best for best, *_ in found]
