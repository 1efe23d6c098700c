"""The engine as WebAssembly: of the source that is there, small, and the portable level bit for bit."""

import gzip
from pathlib import Path

import pytest
from tests.site.conftest import Ask

from jumok.checkpoint.bundled import bundled
from jumok.decoding.translator import load
from jumok.export.model import export_model
from jumok.native.build import source_mark
from jumok.native.library import LEVEL
from jumok.site.engine import ENGINES, EXPORTS, HERE

TEXTS = [
    "1998년 3월 24일 화요일",
    "1998년 3월 24일 화요일 오후 8시 35분부터 1998년 11월 9일 월요일 오전 7시 12분까지",
    "٥ مارس ٢٠٢٤",
    "hello 👋🏽 world",
    "3월 " * 60,
    "</s><s> 2020",
    "",
]


@pytest.mark.parametrize("name", ENGINES)
def test_engines_are_built_from_the_source_that_is_there(name: str) -> None:
    code = gzip.decompress((HERE / name).read_bytes())
    assert code.startswith(b"\0asm")
    assert source_mark().encode() in code, "the C source has changed: python scripts/make_wasm.py"
    assert all(function.encode() in code for function in EXPORTS)


@pytest.mark.parametrize("name", ENGINES)
def test_engines_are_small(name: str) -> None:
    assert (HERE / name).stat().st_size <= 120_000


@pytest.mark.parametrize("name", ENGINES)
def test_answers_are_those_of_the_portable_level_bit_for_bit(
    name: str, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LEVEL, "portable")
    calls = [("POST", "/v1/translate", {"model": arch, "texts": TEXTS, "n_best": 3}) for arch in bundled()]
    found = ask(name, models=bundled(), calls=calls)["answers"]
    for answer, folder in zip(found, bundled().values(), strict=True):
        own = load(folder, engine="native").translate(TEXTS, n_best=3, long="cut", sentences="as-is")
        for mine, theirs in zip(own, answer["results"], strict=True):
            assert [(one.text, one.finished) for one in (mine, *mine.alternatives)] == [
                (one["text"], one["finished"]) for one in (theirs, *theirs["alternatives"])
            ]
            assert [(token.id, token.logprob) for token in mine.tokens] == [
                (token["id"], token["logprob"]) for token in theirs["tokens"]
            ]


def test_int8_folders_too(tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEVEL, "portable")
    folder = tmp_path / "int8"
    export_model("demo/transformer", "native", folder, type="int8", sentences=10)
    own = load(folder, engine="native").translate(TEXTS[:4], long="cut", sentences="as-is")
    for name in ENGINES:
        call = ("POST", "/v1/translate", {"texts": TEXTS[:4]})
        [answer] = ask(name, models={"int8": folder}, calls=[call])["answers"]
        assert [[token["logprob"] for token in one["tokens"]] for one in answer["results"]] == [
            [token.logprob for token in one.tokens] for one in own
        ]
