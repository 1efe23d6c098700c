"""Every parser of what comes from outside, as a function of bytes that may only return or refuse.

What is accepted is used, too: a tokenizer encodes, weights are searched with by the C library. Errors of ours
are refusals; anything else that comes out is a find. `run.py` looks for some, guided by coverage.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import zstandard
from PIL import Image
from pyarrow.parquet import write_table
from tests.fuzz import formats

from jumok.answers import NotFiniteError
from jumok.architectures import LuongConfig
from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.manifest import parse_json, read_manifest
from jumok.config import TextConfig
from jumok.data.corpus import open_corpus
from jumok.errors import Error
from jumok.evaluation.evaluate import score_texts
from jumok.explain.ops import parse_ops
from jumok.explain.tensors import pack, unpack
from jumok.images.read import MOST_BYTES, decode_picture, open_archive
from jumok.native.folder import dump_parts, parse_parts
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.shortlist import build_shortlist, dump_shortlist, parse_shortlist
from jumok.native.tensors import dump_tensors, parse_tensors
from jumok.native.weights import PackedWeights, layout, pack_weights
from jumok.server.gates.bodies import read_json
from jumok.server.gates.problems import Problem
from jumok.server.runs.evals import parse as parse_evaluation
from jumok.server.runs.tail import parse_event
from jumok.settings import nest, parse_config, read_toml
from jumok.text.tokenizer import Tokenizers, parse_source, parse_tokenizer, train_tokenizer

SMALL = LuongConfig(width=4, cell="gru")
TMX = (
    '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"><header srclang="en"/>'
    '<body><tu><tuv xml:lang="en"><seg>a <ph>x</ph></seg></tuv>'
    '<tuv xml:lang="de"><seg>b</seg></tuv></tu></body></tmx>'
)
PO = """msgid ""
msgstr "Language: de\\n"

#, fuzzy
msgid "a"
msgid_plural "b"
msgstr[0] "c"

msgctxt "x"
msgid "d"
msgstr ""
"e\\n"
"""
XLIFF = (
    '<xliff version="1.2"><file source-language="en" target-language="de"><body><trans-unit id="1"><source>a'
    '<g id="1">b</g></source><target state="translated">c</target></trans-unit></body></file></xliff>'
)
LINES = ["ein Haus", "zwei Häuser, 12", "주목"]


@cache
def shared_file(name: str) -> Path:
    """A place for bytes that a reader wants as a file, one for each process."""
    return Path(tempfile.mkdtemp(prefix=f"fuzz-{os.getpid()}-"), name)


def as_file(data: bytes, name: str) -> Path:
    path = shared_file(name)
    path.write_bytes(data)
    return path


@cache
def tokenizers() -> Tokenizers:
    both = train_tokenizer(LINES * 3, TextConfig(vocabulary=300))
    return Tokenizers(both, both)


def random_parts() -> dict[str, PackedWeights]:
    draw, state = np.random.default_rng(0), dict[str, Any]()
    for part in layout(SMALL, tokenizers().source.size, tokenizers().target.size):
        state[part.weight] = draw.standard_normal(part.shape, dtype=np.float32)
        if part.bias:
            state[part.bias] = np.zeros(part.bias_shape, np.float32)
    return pack_weights(SMALL, state, shared=True, type="int8")


def tokenizer(data: bytes) -> None:
    for parse in (parse_tokenizer, parse_source):
        found = parse(data, "fuzz")
        if parse is parse_tokenizer:
            ids = found.encode_many(LINES)
            found.decode_many(ids)


def tensors(data: bytes) -> None:
    for parse in (parse_tensors, lambda one, where: unpack(bytes(one), where)[::-1]):
        arrays, _ = parse(memoryview(data), "fuzz")
        for array in arrays.values():
            array.tobytes()


def int8(data: bytes) -> None:
    sizes = (tokenizers().source.size, tokenizers().target.size)
    buffer = bytearray(data)  # as `read_buffer`: memory of its own
    parts, _ = parse_parts(buffer, SMALL, sizes, "fuzz", shared=True)
    model = NativeModel(SMALL, parts)
    with suppress(NotFiniteError):  # whoever translates is told so
        model.search([[5, 6, 7], []], [4, 3], SearchOptions(beam=2), threads=1)


def shortlist(data: bytes) -> None:
    found = parse_shortlist(bytearray(data), tokenizers(), "fuzz")
    assert len(found.ids([5, 6])) <= tokenizers().target.size


def lines_of(data: bytes, name: str) -> None:
    path = as_file(data, name)
    for row in open_corpus(str(path), "").rows(strict=False):
        assert row.fault is not None or len(row.texts) >= 1
    list(open_corpus(str(path), "").pairs())


def tsv(data: bytes) -> None:
    lines_of(data, "a.tsv")


def jsonl(data: bytes) -> None:
    lines_of(data, "a.jsonl")


def gz(data: bytes) -> None:
    lines_of(data, "a.tsv.gz")


def bzip2(data: bytes) -> None:
    lines_of(data, "a.tsv.bz2")


def xz(data: bytes) -> None:
    lines_of(data, "a.tsv.xz")


def zstd(data: bytes) -> None:
    lines_of(data, "a.tsv.zst")


def csv_rows(data: bytes) -> None:
    lines_of(data, "a.csv")


def json_items(data: bytes) -> None:
    lines_of(data, "a.json")


def tmx(data: bytes) -> None:
    lines_of(data, "a.tmx")


def xliff(data: bytes) -> None:
    lines_of(data, "a.xliff")


def po(data: bytes) -> None:
    lines_of(data, "a.po")


def parquet(data: bytes) -> None:
    lines_of(data, "a.parquet")


def moses(data: bytes) -> None:
    lines_of(data, "a.zip")


def interventions(data: bytes) -> None:
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return
    parse_ops(given)


def body(data: bytes) -> None:
    with suppress(Problem):
        parse_ops(read_json(data))


def documents(data: bytes) -> None:
    parse_event(data)
    parse_evaluation(data)
    parse_json(data, Path("fuzz.json"))


def manifest(data: bytes) -> None:
    read_manifest(as_file(data, "MANIFEST.json").parent)


def settings(data: bytes) -> None:
    parse_config(nest(read_toml(as_file(data, "config.toml"))))


def picture(data: bytes) -> None:
    decode_picture(data[:MOST_BYTES], 8, "fuzz")


def archive(data: bytes) -> None:
    found = open_archive(str(as_file(data, "a.zip")))
    for name in found.entries:
        found.read(name)


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one
    for one in (
        tokenizer,
        tensors,
        int8,
        shortlist,
        tsv,
        jsonl,
        gz,
        bzip2,
        xz,
        zstd,
        csv_rows,
        json_items,
        tmx,
        xliff,
        po,
        parquet,
        moses,
        interventions,
        body,
        documents,
        manifest,
        settings,
        picture,
        archive,
    )
} | formats.targets(as_file)


def check(name: str, data: bytes) -> str:
    """Hand bytes to a parser: refused or read; anything else that it raises comes out."""
    try:
        TARGETS[name](data)
    except Error:
        return "refused"
    return "read"


@cache
def first_inputs() -> dict[str, list[bytes]]:
    """Good inputs of each target, from which a search begins."""
    picture_file, packed = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (4, 4), (9, 99, 199)).save(picture_file, "png")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/b.png", picture_file.getvalue())
    table, sides = io.BytesIO(), io.BytesIO()
    write_table(pa.table({"en": ["a", "b"], "de": ["c", None]}), table)
    with zipfile.ZipFile(sides, "w") as file:
        file.writestr("x.de-en.de", "ein Haus\nzwei\n")
        file.writestr("x.de-en.en", "a house\ntwo\n")
    both, row = tokenizers(), "ein Haus\ta house\nzwei\ttwo\n"
    pairs = [([5, 6], [6, 7])] * 4
    listed = dump_shortlist(build_shortlist(pairs, both), both)
    ops = [{"op": "mask_head", "kind": "cross", "layer": 0, "head": [0, 1]}, {"op": "ban", "text": ["a"]}]
    evaluation = score_texts(["a b c d"], ["a b c e"], sources=["x"]).to_dict()
    entry = {"size": 3, "sha256": "0" * 64}
    objects = '{"src": "a", "tgt": "b"}\n{"translation": {"en": "a", "de": "b"}}\n'
    return {
        "tokenizer": [both.target.to_bytes()],
        "tensors": [
            dump_tensors({"a": np.ones((2, 3), np.float32)}, {"format": "x"}),
            pack({"b": np.ones(2)}),
        ],
        "int8": [dump_parts(random_parts(), "0" * 64)],
        "shortlist": [listed],
        "tsv": [row.encode()],
        "jsonl": [objects.encode()],
        "gz": [gzip.compress(row.encode(), mtime=0)],
        "bzip2": [bz2.compress(row.encode())],
        "xz": [lzma.compress(row.encode())],
        "zstd": [zstandard.compress(row.encode())],
        "csv_rows": [b'id,en,de\n1,"a, ""b""","c\nd"\n2,x,y\n', b"source;target\na;b\n"],
        "json_items": [b'[{"en": "a", "de": "b"}]', b'{"en": {"x": ["a"]}, "de": {"x": ["b"]}}'],
        "tmx": [TMX.encode(), TMX.encode("utf-16")],
        "xliff": [XLIFF.encode()],
        "po": [PO.encode()],
        "parquet": [table.getvalue()],
        "moses": [sides.getvalue()],
        "interventions": [json.dumps(ops).encode()],
        "body": [json.dumps(ops).encode()],
        "documents": [json.dumps(evaluation).encode(), b'{"type": "train", "step": 1, "loss": 2.5}'],
        "manifest": [json.dumps({"format_version": 1, "files": {"a.json": entry}}).encode()],
        "settings": [(bundled()["rnn"].parent / "runs" / "rnn" / "config.toml").read_bytes()],
        "picture": [picture_file.getvalue()],
        "archive": [packed.getvalue()],
        **formats.inputs(),
    }
