"""What is looked into: a text, a what-if, or a file; and files in four forms, whole or not at all."""

import csv
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.views.conftest import TEXT, Traces

from jumok.cli.views.attention import AttentionChoice, heat_view
from jumok.cli.views.trace import (
    Inspection,
    Sizes,
    check_file,
    inspect_text,
    read_op,
    read_ops,
    write_file,
)
from jumok.cli.views.view import View
from jumok.errors import ConfigError
from jumok.explain.ops import (
    Op,
    ban,
    bridge,
    force_prefix,
    mask_edge,
    mask_head,
    no_scale,
    positions,
    replace_source,
    require,
    scale_head,
    set_row,
    uniform,
)
from jumok.explain.trace import open_trace

NOTHING = View({}, "", "")


def test_a_text_a_target_and_options_of_the_search() -> None:
    model = Path("demo/luong")
    assert inspect_text(model, TEXT).trace.manifest["target"]["text"] == "2024-03-05T14:30"
    assert inspect_text(model, TEXT, target="x").trace.manifest["target"]["origin"] == "given"
    assert inspect_text(model, TEXT, beam=2).trace.manifest["decode"]["beam"] == 2


def test_a_what_if_has_both_traces() -> None:
    found = inspect_text(Path("demo/rnn"), TEXT, words=["bridge mode=zero"])
    assert found.change is not None
    assert found.trace.manifest["interventions"] == [{"op": "bridge", "mode": "zero"}]
    assert found.change.baseline_trace.manifest["interventions"] == []


@pytest.mark.parametrize(
    ("model", "words", "message", "where"),
    [
        (
            "rnn",
            "mask_head kind=cross layer=1 head=1",
            "mask_head: this model (rnn) has no cross attention",
            "--what-if 'mask_head kind=cross layer=1 head=1'",
        ),
        (
            "transformer",
            "replace_source unit=99 text=a",
            "replace_source: unit 98 does not exist",
            "--what-if 'replace_source unit=99 text=a' (this message counts from 0)",
        ),
        ("transformer", "bridge mode=zero", "bridge: a Transformer has no bridge", "--what-if 'bridge mode"),
        (
            "luong",
            "no_scale kind=cross",
            "no_scale: Luong's attention does not divide",
            "--what-if 'no_scale",
        ),
    ],
)
def test_what_a_model_cannot_do_is_said_with_the_words_that_asked(
    model: str, words: str, message: str, where: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        inspect_text(Path(f"demo/{model}"), TEXT, words=("ban text=x", words))
    assert caught.value.message.startswith(message)
    assert caught.value.where.startswith(where)


def test_a_manifest(traces: Traces, tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    said = write_file(str(place), Inspection(traces["rnn"]), NOTHING)
    assert said.startswith(f"{place}  ")
    assert said.endswith(" kB  the manifest")
    assert json.loads(place.read_text(encoding="utf-8")) == json.loads(json.dumps(traces["rnn"].manifest))


def test_a_table(traces: Traces, tmp_path: Path) -> None:
    place, found = tmp_path / "a.csv", Inspection(traces["luong"])
    write_file(str(place), found, heat_view(traces["luong"], AttentionChoice(words=True)))
    head, *rows = csv.reader(place.read_text(encoding="utf-8").splitlines())
    assert head[1:4] == ["den", "5", "mars"]
    assert float(rows[0][4]) == pytest.approx(1, abs=0.01)
    quoted = View({}, "", "", [['a"b', "c,d"], [1, 0.5]])
    write_file(str(tmp_path / "quoted.csv"), found, quoted)
    assert (tmp_path / "quoted.csv").read_text() == '"a""b","c,d"\n1,0.5\n'


def test_a_trace_that_answers_whatever_the_page_asks(traces: Traces, tmp_path: Path) -> None:
    place = tmp_path / "a.trace"
    write_file(str(place), Inspection(traces["transformer"]), NOTHING)
    again = open_trace(place)
    assert again.beam() == traces["transformer"].beam()
    assert again.influence().values.tolist() == traces["transformer"].influence().values.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["a.trace"]


@pytest.mark.usefixtures("built")
def test_a_page_with_both_answers(tmp_path: Path) -> None:
    place = tmp_path / "a.html"
    found = inspect_text(Path("demo/luong"), "5. März 2024", words=["ban text=2024"])
    write_file(str(place), found, NOTHING)
    assert found.change is not None
    page = place.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    for trace in (found.trace, found.change.baseline_trace):
        assert f"jumok-tensors-{trace.id}" in page


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a.xml", "-o a.xml: '.xml' is no form of a trace"),
        ("a", "-o a: the name says no form"),
        ("-", "-o -: the name says no form"),
        ("a.html.gz", "-o a.html.gz: '.gz' is no form of a trace"),
    ],
)
def test_names_that_say_no_form(path: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_file(path)
    assert caught.value.message == message
    assert caught.value.hint.startswith("end it with .html (a page that opens without a server), .json (")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.html").mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        check_file(str(tmp_path / "a.html"))
    with pytest.raises(ConfigError, match="No such file or directory"):
        check_file(str(tmp_path / "none" / "a.html"))
    check_file(str(tmp_path / "b.html"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


SIZES: Sizes = {"enc_self": (3, 4), "dec_self": (2, 4), "cross": (2, 4)}


@pytest.mark.parametrize(
    ("words", "op"),
    [
        ("mask_head kind=cross layer=2 head=1", mask_head("cross", 1, 0)),
        ("mask_head kind=enc_self layer=* head=1,3", mask_head("enc_self", "*", [0, 2])),
        ("scale_head kind=cross layer=1 head=* factor=0.5", scale_head("cross", 0, "*", 0.5)),
        ("mask_edge kind=cross layer=1 head=1 q=3 k=1,2", mask_edge("cross", 0, 0, 2, [0, 1])),
        (
            "set_row kind=cross layer=1 head=1 q=3 weights=1:1,4:0.5",
            set_row("cross", 0, 0, 2, {0: 1, 3: 0.5}),
        ),
        ("uniform kind=dec_self layer=2 head=4", uniform("dec_self", 1, 3)),
        ("no_scale kind=cross", no_scale("cross")),
        ("positions mode=shuffle side=target seed=7", positions("shuffle", "target", 7)),
        ("positions mode=shift by=-2", positions("shift", by=-2)),
        ("bridge mode=zero", bridge("zero")),
        ("bridge mode=swap text='5. März 2024'", bridge("swap", "5. März 2024")),
        ('force_prefix text="20 24"', force_prefix("20 24")),
        ("force_prefix ids=300,301", force_prefix([300, 301])),
        ("ban text=a text=b", ban("a", "b")),
        ("require text='a b'", require("a b")),
        ("replace_source unit=2 text=juni", replace_source(1, "juni")),
        ('{"op": "mask_head", "kind": "cross", "layer": 1, "head": 0}', mask_head("cross", 1, 0)),
    ],
)
def test_both_forms(words: str, op: Op) -> None:
    assert read_ops([words], SIZES) == (op,)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("", "unknown op ''", "write it like 'mask_head kind=cross layer=2 head=1', or as a JSON object"),
        ("mask_heads kind=cross", "unknown op 'mask_heads'", "did you mean 'mask_head'?"),
        ("mask_head cross", "mask_head: 'cross' is no field=value", "write it like"),
        ("mask_head kind=cros layer=1 head=1", "mask_head: kind is 'cros'", "did you mean 'cross'?"),
        ("mask_head kind=cross layer=0 head=1", "mask_head: layer=0: this counts from 1 here", ""),
        ("mask_head kind=cross layer=x head=1", "mask_head: layer=x: this counts from 1 here", ""),
        (
            "mask_head kind=cross layer=3 head=1",
            "mask_head: layer 3 does not exist: cross has 2 layers",
            "1 to 2",
        ),
        (
            "mask_head kind=cross layer=1 head=1,9",
            "mask_head: head 9 does not exist: cross has 4 heads",
            "1 to 4",
        ),
        (
            "mask_head kind=cross layer=1",
            "mask_head: head is missing",
            "give head: mask_head has kind, layer, head",
        ),
        (
            "mask_head kind=cross layer=1 heads=1 head=1",
            "mask_head: unknown field 'heads'",
            "did you mean 'head'?",
        ),
        (
            "scale_head kind=cross layer=1 head=1 factor=loud",
            "scale_head: factor=loud: this is no number",
            "",
        ),
        (
            "scale_head kind=cross layer=1 head=1 factor=nan",
            "scale_head: factor is nan",
            "it must be a number between",
        ),
        ("set_row kind=cross layer=1 head=1 q=1 weights=3", "set_row: weights=3: write key:weight", ""),
        ("positions mode=shift by=far", "positions: by=far: this is no whole number", ""),
        ("ban text='open", "cannot read this: No closing quotation", ""),
        ("bridge mode=zero mode=mean", "bridge: mode is ['zero', 'mean']", "it must be one of zero"),
        ('{"op": "ban"', "this is no JSON: ", "write it like"),
        ('{"op": "ban", "text": []}', "ban: text is []", "it must be a list of 1 to 128 texts"),
    ],
)
def test_what_cannot_be_read(words: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_op(words, SIZES)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint
    assert caught.value.where.startswith("--what-if ")
    assert caught.value.code == "bad_parameter"


def test_a_kind_that_the_model_lacks_is_left_to_the_model() -> None:
    assert read_op("mask_head kind=cross layer=9 head=9", {}) == mask_head("cross", 8, 8)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ConfigError):
        assert read_op(text, SIZES).op in text
