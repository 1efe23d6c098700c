"""What a page without a server answers is what the server answers, from tokens to comparisons."""

import random
import shutil
import unicodedata
from collections.abc import Iterator
from itertools import islice
from math import isclose
from pathlib import Path
from typing import Any

import httpx2
import pytest
from safetensors.numpy import load as load_tensors
from tests.server.conftest import serving
from tests.site.conftest import Ask

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.manifest import NEIGHBOURS
from jumok.config import TextConfig
from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import load
from jumok.explain.neighbours import make_index
from jumok.server.settings import ServerSettings
from jumok.text.tokenizer import train_tokenizer

TEXT = "1998년 3월 24일 화요일 👋"
STAGES = ("q", "k", "v", "scores", "scaled", "mask", "weights", "context", "out", "atlas")
HOSTILE = [
    "",
    " ",
    "나는 어제 영화를 봤다. 한글",
    "한국어 자모",
    "the lower the lowest, 1984 and 2026!",
    "</s><s><pad><unk> <0xEA> <2de>",
    "👋🏽 👩‍👩‍👧 🇰🇷",
    "مرحبا بالعالم ٢٠٢٤",
    "e\u0301te\u0301 a\u0327\u0301 \u1112\u1161\u11ab",
    "日本語とไทย",
    "\ufeffbom\u200bzero\u00a0wide\u3000space",
    "a\tb\x1cc\x85d\x00e",
    "ß ẞ ǆ ﬁ ½ Ⅷ ²",
    "x" * 300,
    "".join(chr(0x300 + i % 80) for i in range(40)),
]
KINDS = {
    "bpe": TextConfig(kind="bpe", vocabulary=400),
    "jamo": TextConfig(kind="bpe", vocabulary=420, jamo=True),
    "char": TextConfig(kind="char", vocabulary=330),
    "word": TextConfig(kind="word", vocabulary=330),
}
LONGEST = 128
"""Tokens of either side of a trace; of "xx" they are the beginning of a word, each letter, and the end."""
OPS: list[tuple[str, list[dict[str, Any]]]] = [
    ("transformer", [{"op": "mask_head", "kind": "cross", "layer": 1, "head": "*"}]),
    ("transformer", [{"op": "scale_head", "kind": "enc_self", "layer": 0, "head": [0, 2], "factor": -3.0}]),
    (
        "transformer",
        [{"op": "mask_edge", "kind": "cross", "layer": "*", "head": "*", "q": [0, 1], "k": [0, 1, 2]}],
    ),
    (
        "transformer",
        [{"op": "set_row", "kind": "cross", "layer": 1, "head": 0, "q": 3, "weights": {"2": 1.0, "5": 0.5}}],
    ),
    ("luong", [{"op": "uniform", "kind": "cross", "layer": 0, "head": 0}]),
    ("transformer", [{"op": "no_scale", "kind": "enc_self"}, {"op": "positions", "mode": "none"}]),
    ("transformer", [{"op": "positions", "mode": "shuffle", "seed": 7}]),
    ("transformer", [{"op": "positions", "mode": "shuffle", "seed": 3, "side": "target"}]),
    ("transformer", [{"op": "positions", "mode": "shift", "by": 4}]),
    ("luong", [{"op": "force_prefix", "text": "2001"}, {"op": "ban", "text": ["24"]}]),
    ("luong", [{"op": "require", "text": ["77"]}, {"op": "replace_source", "unit": 0, "text": "2011년"}]),
    ("rnn", [{"op": "bridge", "mode": "swap", "text": "5. März 2024"}]),
    ("luong", [{"op": "bridge", "mode": "mean", "text": "5. März 2024\n2001년"}]),
    ("rnn", [{"op": "bridge", "mode": "zero"}]),
    ("rnn", [{"op": "mask_head", "kind": "cross", "layer": 0, "head": 0}]),  # which it does not have
    ("transformer", [{"op": "mask_head", "kind": "cross", "layer": 9, "head": 0}]),
]


def calls() -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = [("POST", "/v1/trace", {"model": "transformer", "text": TEXT})]
    needs = [f"{kind}.{stage}:1" for kind in ("enc_self", "dec_self", "cross") for stage in STAGES]
    found.append(("GET", f"/v1/traces/ID/tensors?{'&'.join(f'need={need}' for need in needs)}", None))
    found += [("GET", f"/v1/traces/ID/{part}", None) for part in ("influence", "beam")]
    found.append(("GET", "/v1/traces/ID/influence?unit=tokens&replace=drop", None))
    for arch, parts in (
        ("luong", ["cross.scores:0.0", "luong.attentional", "cross.weights"]),
        ("rnn", ["rnn.bridge"]),
    ):
        found.append(("POST", "/v1/trace", {"model": arch, "text": TEXT}))
        needs = [*parts, "rnn.encoder", "rnn.decoder"]
        found.append(("GET", f"/v1/traces/ID/tensors?{'&'.join(f'need={need}' for need in needs)}", None))
        found.append(("GET", "/v1/traces/ID/beam", None))
    found.append(("POST", "/v1/trace", {"model": "rnn", "text": "3월 " * 40}))  # too long: cut, and stopped
    given = {"model": "transformer", "text": "٥ مارس ٢٠٢٤", "target": "2024-03-05"}
    found.append(("POST", "/v1/trace", given))
    longest = {"model": "rnn", "text": TEXT, "target": "x" * (LONGEST - 2)}
    found += [("POST", "/v1/trace", longest), ("GET", "/v1/traces/ID/tensors?need=rnn.decoder", None)]
    found.append(("POST", "/v1/trace", {"model": "luong", "text": TEXT, "beam": 1, "max_len": 4}))
    found.append(("POST", "/v1/sweep", {"model": "transformer", "text": TEXT}))
    names = ["rnn", "luong", "transformer"]
    found.append(("POST", "/v1/compare", {"models": names, "text": TEXT, "cuts": [1, 2, 99]}))
    reference = {"models": names[:2], "text": TEXT, "cuts": [2], "reference": "1998-03-24"}
    found.append(("POST", "/v1/compare", reference))
    found.append(("GET", "/v1/models/transformer/positions?n=64", None))
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[httpx2.Client]:
    models = {name: load(folder, engine="torch") for name, folder in bundled().items()}
    with serving(models, ServerSettings(port=0)) as running, running.client() as client:
        yield client


def asked(server: httpx2.Client, all_calls: list[tuple[str, str, Any]]) -> Iterator[Any]:
    """The server's answers to the same calls."""
    trace = ""
    for method, path, body in all_calls:
        headers = {"Accept": "application/json"}
        path = path.replace("ID", trace)
        answer = server.get(path) if method == "GET" else server.post(path, json=body, headers=headers)
        if "/tensors" in path:
            found = load_tensors(answer.content)
            yield {
                name: {"shape": list(one.shape), "data": one.ravel().tolist()} for name, one in found.items()
            }
            continue
        fields = answer.json()
        trace = fields["id"] if fields.get("schema") == "trace/1" else trace
        yield fields


OTHER = {"id", "ms", "href", "device"}
"""What may differ."""


def same(mine: Any, theirs: Any, where: str = "") -> None:
    """Equal, numbers within 1e-5 of their size, and of that of a score."""
    match mine, theirs:
        case dict(), dict():
            assert mine.keys() - OTHER == theirs.keys() - OTHER, where
            for key in mine.keys() - OTHER:
                same(mine[key], theirs[key], f"{where}.{key}")
        case list(), list():
            assert len(mine) == len(theirs), where
            for n, (one, other) in enumerate(zip(mine, theirs, strict=True)):
                same(one, other, f"{where}[{n}]")
        case (int() | float(), int() | float()):
            near = 5e-4 if ".scores" in where else 1e-5  # scores reach 50 before they are divided
            assert isclose(mine, theirs, rel_tol=1e-5, abs_tol=near), f"{where}: {mine}, {theirs}"
        case _:
            assert mine == theirs, where


def test_answers_are_the_servers(ask: Ask, server: httpx2.Client) -> None:
    mine = ask(models=bundled(), calls=calls())["answers"]
    for call, one, other in zip(calls(), mine, asked(server, calls()), strict=True):
        same(one[-1][1] if call[1] == "/v1/sweep" else one, other, " ".join(call[:2]))


def test_texts_are_as_new_as_on_the_server(ask: Ask, server: httpx2.Client) -> None:
    draw = random.Random(0)
    dates = [source for source, _ in islice(builtin_corpus("dates", "test").pairs(), 40)]
    texts = [
        *(text for text in HOSTILE if len(text) < 100),
        *("".join(draw.sample(date, len(date))) for date in dates),
    ]
    call = ("POST", "/v1/translate", {"model": "luong", "texts": texts, "beam": 1, "max_len": 2})
    mine, theirs = (
        [one["novelty"] for one in found["results"]]
        for found in (*ask(models=bundled(), calls=[call])["answers"], *asked(server, [call]))
    )
    assert mine == theirs
    assert {one["strange"] for one in mine} == {True, False}


def test_neighbours_are_the_servers(ask: Ask, tmp_path: Path) -> None:
    pairs = list(islice(builtin_corpus("dates", "train").pairs(), 200))
    folders = {name: Path(shutil.copytree(folder, tmp_path / name)) for name, folder in bundled().items()}
    models = {name: load(folder, engine="torch") for name, folder in folders.items()}
    for model in models.values():
        make_index(model, pairs, count=20)
    asks: list[tuple[str, str, Any]] = [
        (
            "POST",
            "/v1/neighbours",
            {"model": name, "text": TEXT, "target": target, "count": 4, "points": points},
        )
        for name in models
        for target, points in ((None, True), ("1998-03-25", False))
    ]
    with serving(models, ServerSettings(port=0)) as running, running.client() as client:
        for call, one, other in zip(
            asks, ask(models=folders, calls=asks)["answers"], asked(client, asks), strict=True
        ):
            assert len(one["encoder"]["tokens"]) > 10
            same(one, other, str(call[2]))


def test_an_index_of_other_weights_or_damaged_is_refused(ask: Ask, tmp_path: Path) -> None:
    call = ("POST", "/v1/neighbours", {"model": "luong", "text": TEXT})
    [refused] = ask(models=bundled(), calls=[call])["answers"]
    assert refused["error"] == "no_neighbours"
    folder = Path(shutil.copytree(bundled()["luong"], tmp_path / "luong"))
    whole = (bundled()["transformer"] / NEIGHBOURS).read_bytes()
    for data, reason in ((whole, "made for other weights"), (whole[:500], "is damaged"), (b"", "is damaged")):
        (folder / NEIGHBOURS).write_bytes(data)
        [refused] = ask(models={"luong": folder}, calls=[call])["answers"]
        assert refused["error"] == "bad_neighbours"
        assert reason in refused["detail"]


def test_a_trace_has_128_tokens_and_no_more(ask: Ask, server: httpx2.Client) -> None:
    counts = [{"model": "rnn", "text": TEXT, "target": "x" * n} for n in (LONGEST - 2, LONGEST - 1)]
    wanted = [("POST", "/v1/trace", body) for body in counts]
    whole, refused = ask(models={"rnn": bundled()["rnn"]}, calls=wanted)["answers"]
    assert len(whole["steps"]) == LONGEST
    assert refused["error"] == list(asked(server, wanted))[1]["code"] == "too_long"


def test_what_ifs_are_the_servers(ask: Ask, server: httpx2.Client) -> None:
    bodies = [{"model": arch, "text": TEXT, "interventions": ops} for arch, ops in OPS]
    wanted = [("POST", "/v1/what-if", body) for body in bodies]
    mine = ask(models=bundled(), calls=wanted)["answers"]
    for call, one, other in zip(wanted, mine, asked(server, wanted), strict=True):
        where = str(call[2]["interventions"])
        if "error" in one:
            assert (one["error"], one["field"]) == (other["code"], other["field"]), where
        else:
            same(one, other, where)


def test_ids_are_those_of_python(ask: Ask, tmp_path: Path) -> None:
    lines = [*HOSTILE, *HOSTILE, "나는 오늘 책을 읽었다", "the lower the lowest"]
    made = {name: train_tokenizer([line for line in lines if line], config) for name, config in KINDS.items()}
    made["tags"] = made["bpe"].with_tags(["<2de>", "<2ko>"])
    for name, tokenizer in made.items():
        (tmp_path / f"{name}.json").write_bytes(tokenizer.to_bytes())
    texts = [unicodedata.normalize(form, text) for text in HOSTILE for form in ("NFC", "NFD")]
    asking = [{"file": str(tmp_path / f"{name}.json"), "texts": texts} for name in made]
    for found, (name, tokenizer) in zip(ask(tokenizers=asking)["tokens"], made.items(), strict=True):
        for text, (ids, back) in zip(texts, found, strict=True):
            own = tokenizer.encode(text)
            assert (ids, back) == (own, tokenizer.decode(own)), (name, text)


def test_damaged_and_foreign_folders_are_refused(ask: Ask, tmp_path: Path) -> None:
    import shutil

    for name, damage, words in (
        ("weights", lambda folder: flip(folder / "model.safetensors"), "model.safetensors is damaged"),
        ("settings", lambda folder: flip(folder / "config.json"), "config.json is damaged"),
        ("missing", lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json is missing"),
        ("none", lambda folder: (folder / "MANIFEST.json").unlink(), "it has no MANIFEST.json"),
    ):
        folder = tmp_path / name
        shutil.copytree(bundled()["rnn"], folder)
        damage(folder)
        call = ("POST", "/v1/translate", {"texts": ["1998"]})
        [answer] = ask(models={"rnn": folder}, calls=[call])["answers"]
        assert answer["error"] == "bad_model"
        assert words in answer["detail"]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_what_needs_a_server_says_so(ask: Ask) -> None:
    wanted = [
        ("POST", "/v1/translate", {"texts": ["1998"], "sample": True}),
        ("POST", "/v1/translate", {"texts": ["1998"], "glossary": {"a": "b"}}),
        ("POST", "/v1/gradients", {"text": "1998"}),
        ("GET", "/v1/documents", None),
    ]
    for answer in ask(models={"rnn": bundled()["rnn"]}, calls=wanted)["answers"]:
        assert answer["error"] == "needs_server"
        assert "jumok serve" in answer["detail"]


def test_limits(ask: Ask) -> None:
    wanted = [
        ("POST", "/v1/translate", {"texts": ["x" * 5001]}),
        ("POST", "/v1/translate", {"texts": ["1998"], "beam": 99}),
        ("POST", "/v1/trace", {"text": "  "}),
        ("POST", "/v1/trace", {"text": "\ud800"}),
        ("GET", "/v1/traces/0000000000000000", None),
        ("POST", "/v1/trace", {"text": "1998", "model": "other"}),
    ]
    codes = [answer["error"] for answer in ask(models={"rnn": bundled()["rnn"]}, calls=wanted)["answers"]]
    assert codes == [
        "too_long",
        "bad_parameter",
        "empty_text",
        "bad_unicode",
        "unknown_trace",
        "unknown_model",
    ]
