"""What is looked into: a text, a what-if, or a file; and files in four forms, whole or not at all."""

import csv
import json
from pathlib import Path

import pytest
from tests.cli.views.conftest import TEXT, Traces

from jumok.cli.views.heat import AttentionChoice, heat_view
from jumok.cli.views.source import Inspection, check_file, content, inspect_file, inspect_text, write_file
from jumok.cli.views.view import View
from jumok.errors import ConfigError
from jumok.explain.trace import open_trace

NOTHING = View({}, "", "")


def test_a_text_a_target_and_options_of_the_search() -> None:
    model = Path("demo/luong")
    assert inspect_text(model, TEXT).trace.manifest["target"]["text"] == "2024-03-05T14:30"
    assert inspect_text(model, TEXT, target="x").trace.manifest["target"]["origin"] == "given"
    assert inspect_text(model, TEXT, options={"beam": 2}).trace.manifest["decode"]["beam"] == 2


def test_a_file(traces: Traces, tmp_path: Path) -> None:
    place = traces["luong"].save(tmp_path / "a.trace")
    assert inspect_file(place).trace.id == traces["luong"].id


def test_a_what_if_has_both_traces() -> None:
    found = inspect_text(Path("demo/rnn"), TEXT, what_if=["bridge mode=zero"])
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
        inspect_text(Path(f"demo/{model}"), TEXT, what_if=("ban text=x", words))
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
    assert content(".csv", found, quoted) == '"a""b","c,d"\n1,0.5\n'


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
    found = inspect_text(Path("demo/luong"), "5. März 2024", what_if=["ban text=2024"])
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
