"""ONNX: `encoder.onnx` reads the source once, `step.onnx` gives the log-probabilities of the next token.

A step takes the last token and everything that the encoder handed out; what it hands out as `next_…` takes
the place of `…` in the next step. The batch is the first axis of every value, so rows can be left out,
doubled and reordered. The graphs are written with ONNX's own operators; nothing is traced.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumok.answers import Answer
from jumok.checkpoint.folder import dump_json
from jumok.checkpoint.model import LoadedModel
from jumok.config import RunConfig, TransformerConfig, copies
from jumok.decoding.batched import USUAL, lay_sources
from jumok.decoding.beam import BeamSearch
from jumok.decoding.greedy import GreedySearch
from jumok.decoding.search import Search, run_search
from jumok.errors import LimitError
from jumok.export import onnx_recurrent, onnx_transformer
from jumok.export.format import WriteOptions
from jumok.export.graph import Graph
from jumok.export.layouts import table_rows
from jumok.export.spelling import IDS, suppressed, tokenizer_file
from jumok.models.interface import Memory, Seq2Seq
from jumok.models.sentences import Sentences
from jumok.models.transformer import TransformerSeq2Seq
from jumok.text.tokenizer import Tokenizers

TYPES = ("float32",)
NEEDS = ("onnx", "onnxruntime")
EXTRA = "onnx"
FILE = False

MOST = 2_000_000_000
"""Bytes of one file: its format ends at 2 GiB."""


def check(config: RunConfig) -> list[str]:
    """Why a model with these settings cannot be written."""
    reasons = list[str]()
    if config.data.images:
        reasons.append("it reads pictures, and only models that read text are written as ONNX")
    if copies(config.model):
        reasons.append("it points at its source (model.copy=true), and the graphs do not")
    elif not config.model.is_native:
        reasons.append(f"there are no graphs for {config.model.arch} models (model.arch={config.model.arch})")
    return reasons


def write(loaded: LoadedModel, folder: Path, options: WriteOptions) -> None:
    """Both graphs, the tokenizers, what a program must know besides, and a README with such a program."""
    size = 4 * sum(parameter.numel() for parameter in loaded.model.parameters())
    if size > MOST:
        raise LimitError(
            f"the weights have {size:,} bytes, and a file of ONNX holds at most {MOST:,}",
            hint="export to another format",
        )
    for graph in graphs(loaded):
        options.progress(f"writing {graph.name}.onnx", 0, None)
        (folder / f"{graph.name}.onnx").write_bytes(graph.model().SerializeToString())
    for name, tokenizer in tokenizer_files(loaded.tokenizers).items():
        (folder / name).write_bytes(dump_json(tokenizer))
    (folder / "config.json").write_bytes(dump_json(_config(loaded)))
    (folder / "README.md").write_text(_readme(loaded), encoding="utf-8")


def graphs(loaded: LoadedModel) -> tuple[Graph, Graph]:
    """The encoder and the step of a model."""
    model, config = loaded.model, loaded.config.model
    if isinstance(config, TransformerConfig):
        assert isinstance(model, TransformerSeq2Seq)
        return onnx_transformer.encoder_graph(model, config), onnx_transformer.step_graph(model, config)
    return onnx_recurrent.encoder_graph(model, config), onnx_recurrent.step_graph(model, config)


def tokenizer_files(tokenizers: Tokenizers) -> dict[str, dict[str, Any]]:
    """One file, or one for each side."""
    if tokenizers.shared:
        return {"tokenizer.json": tokenizer_file(tokenizers.target)}
    return {
        "source_tokenizer.json": tokenizer_file(tokenizers.text_source),
        "target_tokenizer.json": tokenizer_file(tokenizers.target),
    }


def _config(loaded: LoadedModel) -> dict[str, Any]:
    return {
        "format": "jumok-onnx/1",
        "arch": loaded.config.model.arch,
        **IDS,
        "suppress_tokens": suppressed(),
        "max_source": loaded.config.data.max_length,
        "max_new_tokens": min(loaded.config.decoding.max_len, table_rows(loaded.config)),
        "source_language": loaded.config.data.source_language,
        "target_language": loaded.config.data.target_language,
    }


def _readme(loaded: LoadedModel) -> str:
    return f"""# A translation model in ONNX

Made by jumok. `encoder.onnx` reads the source: `source` (batch, length) and `lengths` (batch), both int64;
every source ends with `</s>`, shorter ones are padded with any id. `step.onnx` takes `token` (batch), first
`<s>`, and all that the encoder gave; it gives `log_probs` (batch, vocabulary) and values `next_…` that take
the place of `…` in the next step. `certificate.json` says how well the answers agree with jumok's.

This program needs `pip install onnxruntime tokenizers` and translates greedily:

```python
{example(loaded.tokenizers)}```
"""


def example(tokenizers: Tokenizers) -> str:
    """A whole program that translates, one argument after the other."""
    source, target = [*tokenizer_files(tokenizers)] * 2 if tokenizers.shared else tokenizer_files(tokenizers)
    letters = tokenizers.target.jamo  # both sides have them, or none
    return EXAMPLE.format(
        source=source,
        target=target,
        imports="import re\n" if letters else "",
        more="from unicodedata import normalize\n" if letters else "",
        read=SPELL if letters else "text",
        write='normalize("NFC", target.decode(answer))' if letters else "target.decode(answer)",
    )


SPELL = 're.sub("[가-힣]+", lambda run: normalize("NFD", run[0]), normalize("NFC", text))'
"""Korean syllables as letters."""

EXAMPLE = """import json
{imports}import sys
from pathlib import Path
{more}
import onnxruntime
from tokenizers import Tokenizer

folder = Path("path/to/this/folder")
config = json.loads((folder / "config.json").read_text())
source, target = (Tokenizer.from_file(str(folder / name)) for name in ("{source}", "{target}"))
source.encode_special_tokens = True  # "</s>" in a text is text
encoder, step = (onnxruntime.InferenceSession(folder / f"{{name}}.onnx") for name in ("encoder", "step"))
names = [value.name for value in step.get_inputs() if value.name != "token"]


def run(session, values):
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, values)))


def translate(text):
    ids = source.encode({read}).ids  # with the end
    values = run(encoder, {{"source": [ids], "lengths": [len(ids)]}})
    token, answer = config["bos_token_id"], []
    while len(answer) < min(config["max_new_tokens"], 3 * len(ids) + 27):
        values |= run(step, {{"token": [token]}} | {{name: values[name] for name in names}})
        values["log_probs"][0, config["suppress_tokens"]] = -float("inf")
        token = int(values["log_probs"].argmax())
        if token == config["eos_token_id"]:
            break
        answer.append(token)
        values |= {{name: values[f"next_{{name}}"] for name in names if f"next_{{name}}" in values}}
    return {write}


for text in sys.argv[1:]:
    print(translate(text))
"""


@dataclass(frozen=True)
class Values:
    """What a step takes besides the token."""

    arrays: dict[str, Any]

    def select(self, rows: Tensor) -> "Values":
        return Values({name: array[rows.numpy()] for name, array in self.arrays.items()})


class OnnxAnswerer(Seq2Seq):
    """A model whose numbers come from onnxruntime."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        runtime: Any = import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others work here, too
        self.sessions = {
            name: runtime.InferenceSession(
                str(folder / f"{name}.onnx"), options, providers=["CPUExecutionProvider"]
            )
            for name in ("encoder", "step")
        }
        self.names = [value.name for value in self.sessions["step"].get_inputs() if value.name != "token"]

    def run(self, name: str, values: dict[str, Any]) -> dict[str, Any]:
        """The outputs of one graph by their names."""
        session = self.sessions[name]
        outputs = session.run(None, values)
        return dict(zip([output.name for output in session.get_outputs()], outputs, strict=True))

    def encode(self, source: Sentences) -> Memory:
        """The memory keeps the ids: `start` reads them."""
        return Memory(source.tokens[:, None], source)

    def start(self, memory: Memory) -> Values:
        source = memory.source
        read = {"source": source.grid(source.tokens).numpy(), "lengths": source.known_lengths}
        return Values(self.run("encoder", read))

    def step(self, token: Tensor, state: Values) -> tuple[Tensor, Values]:
        """Log-probabilities (B, V) are logits, too: a softmax changes nothing about them."""
        outputs = self.run(
            "step", {"token": token.numpy()} | {name: state.arrays[name] for name in self.names}
        )
        after = {name: outputs.get(f"next_{name}", array) for name, array in state.arrays.items()}
        return torch.from_numpy(outputs["log_probs"]), Values(after)

    def answer(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[Answer]:
        """The best answer to each source, by the same search that ours come from."""
        memory = self.encode(lay_sources(sources, torch.device("cpu")))
        search: Search
        if beam == 1:
            search = GreedySearch(limits, [USUAL])
        else:
            search = BeamSearch(limits, [USUAL], beam=beam, length_penalty=length_penalty)
        return [best for best, *_ in run_search(self, memory, search)]


open = OnnxAnswerer  # noqa: A001
