"""Our PyTorch engine as a contestant."""

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from cpu_peers.task import read_weights, size_of, transformer_settings
from cpu_peers.worker import Ids, Setting, Translate, serve
from jumok import __version__
from jumok.config import DecodingConfig, TransformerConfig
from jumok.decoding.batched import search
from jumok.decoding.jobs import Job
from jumok.models.build import build_model


def prepare(folder: Path, setting: Setting) -> None:
    there, about = folder / "jumok.safetensors", folder / "size.json"
    if there.exists() and there.stat().st_mtime > about.stat().st_mtime:
        return
    weights = {name: torch.from_numpy(array) for name, array in read_weights(folder).items()}
    del weights["source_embedding.weight"]  # one table
    save_file(weights, there)


def load(folder: Path, setting: Setting) -> Translate:
    size = size_of(folder)
    config = TransformerConfig(**transformer_settings(size))
    with torch.device("meta"):
        model = build_model(config, size.vocabulary, size.vocabulary, shared=True).eval()
    weights = load_file(folder / "jumok.safetensors")
    weights["source_embedding.weight"] = weights["target_embedding.weight"]
    model.load_state_dict(weights, assign=True)
    model.source_embedding.weight = model.target_embedding.weight

    def translate(sources: Ids, beam: int, batch: int, new: int) -> Ids:
        torch.set_num_threads(setting["threads"])
        config = DecodingConfig(beam=beam, max_len=new)
        jobs = [Job(tuple(source[:-1])) for source in sources]
        found = []
        for first in range(0, len(jobs), batch):
            found += search(model, jobs[first : first + batch], config, ())
        return [list(answers[0].ids) for answers in found]

    return translate


if __name__ == "__main__":
    serve(prepare, load, f"jumok {__version__}, torch {torch.__version__}")
