"""Files in four forms, whole or not at all."""

import csv
import json
from pathlib import Path

import pytest
from tests.cli.views.conftest import Traces

from jumok.cli.views.files import check_file, csv_of, write_file
from jumok.cli.views.heat import Which, heat_view
from jumok.cli.views.look import Asked, Looked, look
from jumok.cli.views.view import View
from jumok.errors import ConfigError
from jumok.explain.trace import open_trace

NOTHING = View({}, "", "")


def test_a_manifest(traces: Traces, tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    said = write_file(str(place), Looked(traces["rnn"]), NOTHING)
    assert said.startswith(f"{place}  ")
    assert said.endswith(" kB  the manifest")
    assert json.loads(place.read_text(encoding="utf-8")) == json.loads(json.dumps(traces["rnn"].manifest))


def test_a_table(traces: Traces, tmp_path: Path) -> None:
    place = tmp_path / "a.csv"
    write_file(str(place), Looked(traces["luong"]), heat_view(traces["luong"], Which(words=True)))
    head, *rows = csv.reader(place.read_text(encoding="utf-8").splitlines())
    assert head[1:4] == ["den", "5", "mars"]
    assert float(rows[0][4]) == pytest.approx(1, abs=0.01)
    assert csv_of(View({}, "", "", [['a"b', "c,d"], [1, 0.5]])) == b'"a""b","c,d"\n1,0.5\n'


def test_a_trace_that_answers_every_view(traces: Traces, tmp_path: Path) -> None:
    place = tmp_path / "a.trace"
    write_file(str(place), Looked(traces["transformer"]), NOTHING)
    again = open_trace(place)
    assert again.beam() == traces["transformer"].beam()
    assert again.influence().values.tolist() == traces["transformer"].influence().values.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["a.trace"]


@pytest.mark.usefixtures("built")
def test_a_page_with_both_answers(tmp_path: Path) -> None:
    place = tmp_path / "a.html"
    found = look(Asked(Path("demo/luong"), "5. März 2024", ops=("ban text=2024",)))
    write_file(str(place), found, NOTHING)
    page = place.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert [f"jumok-tensors-{one.id}" in page for one in found.traces] == [True, True]


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
