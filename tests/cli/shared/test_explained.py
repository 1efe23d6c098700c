"""Alignments, attention in files and growing answers, on small models of every kind."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.explain.conftest import COPYING, MODELS, Workshop, built

from jumok.cli.shared import explained
from jumok.cli.shared.explained import BLOCK, align, check_place, keep_attention, only_line, traced
from jumok.decoding.results import Translation
from jumok.decoding.stream import Final
from jumok.errors import ConfigError
from jumok.explain.trace import open_trace
from jumok.model import Model

__all__ = ["built"]

LINES = ["a man rides a horse.", "", "나는 어제 영화를 봤다.", "one two"]


@pytest.fixture(scope="module", params=[*MODELS, COPYING], ids=[*MODELS, "copying"])
def model(request: pytest.FixtureRequest) -> Model:
    return Workshop().model(request.param)


def no_progress(what: str, done: int, total: int | None) -> None:
    pass


def test_traces_come_in_order_and_in_blocks(model: Model) -> None:
    seen = []
    found = list(
        traced(model, iter(LINES), 3, {"beam": 1}, lambda what, done, total: seen.append((what, done)))
    )
    assert [one.text for one in found] == [one.text for one in model.translate(LINES, beam=1)]
    assert seen == [("translating", 3), ("translating", 4)]
    assert len(list(traced(model, [""] * (BLOCK + 1), 1024, {}, no_progress))) == BLOCK + 1


def test_every_architecture_is_aligned(model: Model) -> None:
    asked = {"max_len": 8, "align": model.aligns}
    found = [align(one, model) for one in traced(model, LINES, 9, asked, no_progress)]
    assert model.aligns or model.config.model.arch == "rnn"
    assert found[1] == {"align": "", "words": {"src": [], "tgt": []}}
    assert found[0]["words"]["src"] == ["a", "man", "rides", "a", "horse", "."]
    for one in found:
        for source, target in (map(int, link.split("-")) for link in one["align"].split()):
            assert source < len(one["words"]["src"])
            assert target < len(one["words"]["tgt"])


def test_without_attention_a_text_that_is_translated_in_parts_has_no_links() -> None:
    whole = {"max_len": 4, "sentences": "as-is"}
    text = "a man rides a horse. " * 3
    blind, seeing = (Workshop().model(name, max_length=8) for name in ("rnn", "luong"))
    [one] = traced(blind, [text], 9, whole, no_progress)
    assert one.text
    assert align(one, blind)["align"] == ""
    assert align(seeing.translate(text, align=True, **whole), seeing)["align"]


def test_the_words_of_a_text_are_counted_through_its_sentences() -> None:
    model = Workshop().model("luong")
    lines = ["A man rides a horse. The dog sees!", "A man rides a horse.", "The dog sees!"]
    both, *each = (align(one, model) for one in model.translate(lines, max_len=8, align=True))
    for side in ("src", "tgt"):
        assert both["words"][side] == each[0]["words"][side] + each[1]["words"][side]
    before = [len(each[0]["words"][side]) for side in ("src", "tgt")]
    later = [[int(n) for n in link.split("-")] for link in each[1]["align"].split()]
    moved = " ".join(f"{s + before[0]}-{t + before[1]}" for s, t in later)
    assert both["align"] == f"{each[0]['align']} {moved}".strip()


@pytest.mark.usefixtures("built")
def test_attention_goes_to_a_file_or_a_folder(
    model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, blank, *_ = traced(model, LINES, 9, {"max_len": 8}, no_progress)
    keep_attention(str(tmp_path), 12, first, quiet=False)
    keep_attention(str(tmp_path), 13, blank, quiet=False)
    assert [path.name for path in tmp_path.glob("*.html")] == ["000012.html"]
    assert capsys.readouterr().err == ""
    keep_attention(str(tmp_path / "a.trace"), 1, first, quiet=False)
    assert capsys.readouterr().err == f"attention: {tmp_path / 'a.trace'}\n"
    again = open_trace(tmp_path / "a.trace")
    assert again.id == first.trace.id
    assert again.influence().values.tolist() == first.influence().tolist()
    keep_attention(str(tmp_path / "a.html"), 1, first, quiet=True)
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert capsys.readouterr().err == ""


def test_places_that_cannot_be(tmp_path: Path) -> None:
    check_place(str(tmp_path))
    check_place(str(tmp_path / "a.html"))
    with pytest.raises(ConfigError, match=r"--attention a\.txt: the name says no form"):
        check_place("a.txt")
    with pytest.raises(ConfigError, match="No such file or directory"):
        check_place(str(tmp_path / "none" / "a.trace"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_takes_one_line() -> None:
    assert only_line(iter(["a"]), "a.html") == ["a"]
    assert only_line([], "a.html") == []
    with pytest.raises(ConfigError, match=r"--attention a\.html takes one line, and there are more"):
        only_line(iter("ab"), "a.html")


class Watched(io.BytesIO):
    """Remembers what had been written at each flush."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[bytes] = []

    def flush(self) -> None:
        self.seen.append(self.getvalue())


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3}, {"sample": True, "seed": 3}])
def test_what_was_written_never_changes_and_ends_as_the_translation(
    model: Model, options: dict[str, Any]
) -> None:
    file, lines = Watched(), [*LINES, "a man rides 영화를 봤다. " * 6]
    found = list(explained.write_growing(model, lines, file, options))
    assert [one.text for one in found] == [one.text for one in model.translate(lines, **options)]
    assert file.getvalue().decode().split("\n") == [*(one.text for one in found), ""]
    assert all(later.startswith(earlier) for earlier, later in zip(file.seen, file.seen[1:], strict=False))
    if options == {"beam": 1}:
        assert len(set(file.seen)) > len(lines)  # it did not come all at once


def test_steps_as_json(model: Model) -> None:
    file = io.BytesIO()
    found = list(explained.write_events(model, LINES[:2], file, {"beam": 2}))
    events = [json.loads(line) for line in file.getvalue().splitlines()]
    finals = [event for event in events if event["type"] == "final"]
    assert [event["text"] for event in finals] == [one.text for one in found]
    assert [event["line"] for event in finals] == [1, 2]
    partials = [event for event in events if event["type"] == "partial"]
    assert [event["t"] for event in partials] == list(range(1, len(partials) + 1))


def test_a_line_of_several_sentences_has_a_page_for_each_and_a_file_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written: list[tuple[str, str]] = []

    class Part(SimpleNamespace):
        def save_html(self, place: Path) -> None:
            written.append((self.name, place.name))

        save = save_html

    parts = (Part(name="first"), Part(name="second"))
    line: Any = Part(name="whole", made=object(), parts=parts)
    keep_attention(str(tmp_path), 7, line, quiet=False)
    assert written == [("first", "000007-1.html"), ("second", "000007-2.html")]
    assert capsys.readouterr().err == ""
    for name in ("a.html", "a.trace"):
        written.clear()
        keep_attention(name, 7, line, quiet=False)
        assert written == [("whole", name)]
        assert capsys.readouterr().err == f"attention: {name} (sentence 1 of 2)\n"


def test_half_a_character_waits_for_its_other_half() -> None:
    """What is sure may end in the middle of one, which then looks like any other that is not whole."""
    events: list[Any] = [
        SimpleNamespace(text="가\ufffd", sure=2),
        SimpleNamespace(text="가나 and", sure=2),
        SimpleNamespace(text="가나 or", sure=0),  # nothing more is sure
        Final(Translation("가나 or", 0.0, 0.0, (), finished=True)),
    ]
    model: Any = SimpleNamespace(stream=lambda *_, **__: iter(events))
    file = io.BytesIO()
    [answer] = explained.write_growing(model, ["x"], file, {})
    assert file.getvalue().decode() == "가나 or\n"
    parts = [part for part in explained.growing(model, "x", {}) if isinstance(part, str)]
    assert parts == ["가", "나", " or"]
    assert answer.text == "가나 or"
