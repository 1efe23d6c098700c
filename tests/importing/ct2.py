"""Folders of CTranslate2, written by that library from folders of transformers."""

import json
import warnings
from pathlib import Path

FILES = ("source.spm", "target.spm", "tokenizer.json", "spiece.model")


def converted(folder: Path, out: Path, quantization: str | None = None) -> Path:
    """A folder of transformers as one of CTranslate2, with the files of its tokenizer."""
    import ctranslate2

    files = [name for name in FILES if (folder / name).exists()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        maker = ctranslate2.converters.TransformersConverter(str(folder), copy_files=files)
        maker.convert(str(out), quantization=quantization)
    return out


def without_end(folder: Path) -> Path:
    """The folder as OpenNMT's converter would write it: sources have no end."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "add_source_eos": False}))
    return folder
