"""jumok export as people type it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jumok.native.library import why_not

Call = Callable[..., int]
BASE = ("export", "ctranslate2", "-m", "demo/transformer", "--sentences", 5)


def test_a_folder_and_what_it_is_worth(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*BASE, "-o", tmp_path / "ct2") == 0
    shown = capsys.readouterr()
    assert shown.err == "comparing on 5 sentences of dates-valid\n"
    assert f"{tmp_path / 'ct2'}  ctranslate2 float32" in shown.out
    assert "equal text     greedy 5, beam 5 5, of 5" in shown.out
    assert "BLEU           100.00 -> 100.00 (+0.00; 95 %: +0.00 to +0.00)" in shown.out
    assert (tmp_path / "ct2" / "certificate.json").is_file()


def test_json_is_the_certificate(call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "dates.txt"
    source.write_text("5. März 2024\n", encoding="utf-8")
    assert call(*BASE, "-o", tmp_path / "ct2", "-s", source, "--type", "int8", "--json", "-q") == 0
    shown = capsys.readouterr()
    result = json.loads(shown.out)
    assert shown.err == ""
    assert result == json.loads((tmp_path / "ct2" / "certificate.json").read_text(encoding="utf-8"))
    assert (result["sentences"], result["type"], result["data"]["name"]) == (1, "int8", "dates.txt")
    assert "bleu" not in result


def test_what_misses_a_threshold_has_its_own_exit_code(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*BASE, "-o", tmp_path / "ct2", "--threshold", "score=0") == 4
    assert "error: the exported model does not agree with the original" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["ct2.failed"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("ctranslate2", "-m", "demo/rnn"), 2, "cannot be exported to ctranslate2: it has no rnn models"),
        (("ctranslate2", "-m", "demo/none"), 3, "there is no model folder demo/none"),
        (("onyx", "-m", "demo/rnn"), 2, "Invalid value for 'FORMAT'"),
        (("onnx", "-m", "demo/rnn", "--type", "int8"), 2, "onnx cannot be written as int8"),
        (("ctranslate2", "-m", "demo/transformer", "--threshold", "x=1"), 2, "there is no threshold 'x'"),
        (("ctranslate2", "-m", "demo/transformer", "-t", "x"), 2, "a reference needs its source"),
        (("argos", "-m", "demo/transformer"), 2, "a package needs the code of its language, not 'iso8601'"),
    ],
)
def test_mistakes_get_a_sentence(
    words: tuple[str, ...],
    code: int,
    message: str,
    call: Call,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call("export", *words, "-o", tmp_path / "out") == code
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_shortlist_and_translating_with_it(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for side, line in zip(sides, ("5. März 2024\n", "2024-03-05\n"), strict=True):
        side.write_text(line * 3, encoding="utf-8")
    files = ("-s", sides[0], "-t", sides[1], "--shortlist-from", sides[0], "--shortlist-from", sides[1])
    assert call("export", "native", "-m", "demo/transformer", "-o", tmp_path / "out", *files) == 0
    shown = capsys.readouterr().out
    assert "shortlist      " in shown
    assert "of 800 tokens, equal tokens greedy 100.00%" in shown
    model = ("-m", tmp_path / "out", "--shortlist", "--device", "cpu")
    assert call("translate", *model, "5. März 2024") == 0
    assert capsys.readouterr().out == "2024-03-05\n"
    test = ("-s", sides[0], "-t", sides[1], "--metric", "exact", "-q", "--no-by-length")
    assert call("evaluate", *model, *test) == 0
    assert capsys.readouterr().out == "100.00\n"
    assert call("translate", "-m", "demo/transformer", "--shortlist", "--device", "cpu", "mai") == 2
    assert "transformer has no shortlist" in capsys.readouterr().err
