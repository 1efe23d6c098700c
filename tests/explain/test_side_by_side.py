"""Models side by side: the same words, a fixed order, and cuts that say what they are compared with."""

import json
from pathlib import Path

import numpy as np
import pytest
from sacrebleu import sentence_chrf
from tests.explain.test_page import text_of

from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, LimitError
from jumok.explain.html import shorter
from jumok.explain.influence import influence
from jumok.explain.ops import ban, mask_head
from jumok.explain.side_by_side import begin_of, check_cuts, chrf, side_by_side

TEXT = "the dog sees a horse."


@pytest.fixture(scope="module")
def trio(workshop) -> list[Translator]:  # type: ignore[no-untyped-def]
    return [
        workshop.translator("transformer", name="b", beam=1),
        workshop.translator("rnn", name="c", kind="char", beam=1),
        workshop.translator("luong", name="a", beam=1),
    ]


def test_columns_stand_by_architecture_then_name(trio: list[Translator]) -> None:
    found = side_by_side(trio, TEXT)
    assert [(column.name, column.arch) for column in found.columns] == [
        ("c", "rnn"),
        ("a", "luong"),
        ("b", "transformer"),
    ]
    for column, one in zip(found.columns, (trio[1], trio[2], trio[0]), strict=True):
        assert column.translation == one.translate(TEXT)
        assert column.trace.manifest["target"]["text"] == column.translation.text
        assert column.chrf is None
    assert found.grow == ()
    assert found.pseudo_reference is None


def test_influence_is_on_the_same_words(trio: list[Translator]) -> None:
    found = side_by_side(trio, TEXT)
    assert found.words == ("the", "dog", "sees", "a", "horse", ".")
    for column in found.columns:
        assert tuple(unit.text for unit in column.influence.units) == found.words
        assert column.influence.values.shape == (len(column.translation.tokens), 6)
    last = found.columns[-1]
    own = influence(trio[0], TEXT, [token.id for token in last.translation.tokens])
    np.testing.assert_allclose(last.influence.values, own.values, atol=1e-5)


def test_a_reference_gives_scores(trio: list[Translator]) -> None:
    reference = trio[2].translate(TEXT).text
    found = side_by_side(trio, TEXT, reference=reference, cuts=[2, 99, 4, 2])
    assert found.columns[1].chrf == pytest.approx(100)
    for column in found.columns:
        expected = sentence_chrf(column.translation.text, [reference]).score
        assert column.chrf == pytest.approx(expected)
    assert found.pseudo_reference is None
    assert [(cut.words, cut.source) for cut in found.grow] == [
        (2, "the dog"),
        (4, "the dog sees a"),
        (6, TEXT),
    ]
    for cut in found.grow:
        assert cut.reference == begin_of(reference, cut.words / 6)
        for name, one in zip("cab", (trio[1], trio[2], trio[0]), strict=True):
            text = one.translate(cut.source).text
            assert cut.scores[name] == (pytest.approx(chrf(text, cut.reference)), text)
    assert found.grow[-1].scores["a"][0] == pytest.approx(100)


def test_without_a_reference_the_last_model_stands_in(trio: list[Translator]) -> None:
    found = side_by_side({"x": trio[0], "y": trio[1]}, TEXT, cuts=[3])
    assert [column.name for column in found.columns] == ["y", "x"]
    assert found.pseudo_reference == "x"
    assert found.grow[0].scores["x"][0] == pytest.approx(100)
    assert found.grow[0].reference == trio[0].translate("the dog sees").text


def test_the_json_form(trio: list[Translator]) -> None:
    plain = side_by_side(trio, TEXT, cuts=[1]).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["source"]["words"] == ["the", "dog", "sees", "a", "horse", "."]
    assert list(plain["results"][0]) == [
        "model",
        "arch",
        "id",
        "text",
        "score",
        "score_per_token",
        "chrf",
        "tokens",
        "influence",
    ]
    assert plain["pseudo_reference"] == "b"
    assert list(plain["grow"][0]["scores"]) == ["c", "a", "b"]
    assert set(plain["grow"][0]["scores"]["a"]) == {"chrf", "text"}


def test_two_checkpoints_of_one_run_get_numbers(trio: list[Translator]) -> None:
    found = side_by_side([trio[0], trio[0], trio[0]], "dog")
    assert [column.name for column in found.columns] == ["b", "b (2)", "b (3)"]


def test_words_end_where_the_shortest_model_does(trio: list[Translator], workshop) -> None:  # type: ignore[no-untyped-def]
    short = workshop.translator("rnn", name="short", kind="char", max_length=9, beam=1)
    found = side_by_side([trio[0], short], TEXT, cuts=[9])  # it reads "the dog s"
    assert found.words == ("the", "dog")
    assert [column.influence.values.shape[1] for column in found.columns] == [2, 2]
    assert found.grow[0].source == "the dog"


def test_options_hold_for_all(trio: list[Translator]) -> None:
    found = side_by_side(trio, TEXT, prefix="dog", cuts=[1])
    assert all(column.translation.text.startswith("dog") for column in found.columns)
    assert all(text.startswith("dog") for _, text in found.grow[0].scores.values())


def test_progress_may_stop_the_work(trio: list[Translator]) -> None:
    def stop(what: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side(trio, TEXT, progress=stop)


def test_each_model_is_heard_of_before_it_begins(trio: list[Translator]) -> None:
    told: list[tuple[str, int, int | None]] = []
    side_by_side(trio[:2], "dog", progress=lambda what, done, total: told.append((what, done, total)))
    assert [one for one in told if one[0] == "comparing"] == [("comparing", 0, 2), ("comparing", 1, 2)]
    assert check_cuts(range(32, 0, -1)) == list(range(1, 33))  # as many as there may be


@pytest.mark.parametrize("count", [1, 4])
def test_two_or_three_models(count: int, trio: list[Translator]) -> None:
    with pytest.raises(ConfigError, match=f"{count} models were given to compare"):
        side_by_side(trio[:1] * count, TEXT)


def test_bad_cuts_are_refused(trio: list[Translator]) -> None:
    with pytest.raises(ConfigError, match="cuts: 0 is no number of words"):
        side_by_side(trio, TEXT, cuts=[0])
    with pytest.raises(LimitError, match="33 cuts were asked for, and 32 is the most"):
        side_by_side(trio, TEXT, cuts=range(1, 34))


@pytest.mark.parametrize(
    ("text", "share", "begin"),
    [
        ("I saw a movie.", 0.4, "I saw"),
        ("I saw a movie.", 1.0, "I saw a movie."),
        ("I saw a movie.", 0.01, "I"),
        ("나는 봤다", 0.5, "나는"),
        ("我看电影", 0.5, "我看"),
        ("", 0.5, ""),
    ],
)
def test_the_beginning_of_a_reference(text: str, share: float, begin: str) -> None:
    assert begin_of(text, share) == begin


def test_chrf_of_blank_texts() -> None:
    assert chrf("", "") == 100
    assert chrf("", "a") == chrf("a", "") == 0


def test_a_file_opens_on_the_comparison(trio: list[Translator], built: Path, tmp_path: Path) -> None:
    found = side_by_side({"x": trio[0], "y": trio[1], "z": trio[2]}, TEXT, cuts=[2])
    page = found.save_html(tmp_path / "a.html").read_text(encoding="utf-8")
    data = json.loads(text_of(page, "jumok-data"))
    assert data["start"].startswith("/compare?")
    answer = data["answers"]["/v1/compare"]
    assert answer == json.loads(json.dumps(shorter(found.to_dict())))
    assert [one["model"] for one in answer["results"]] == [card["name"] for card in data["models"]]
    assert [one["id"] for one in answer["results"]] == [one["id"] for one in data["traces"]]
    assert "srcdoc" in found.show()._repr_html_()
    assert repr(found.show()) == repr(found)
    assert repr(found).startswith(f"SideBySide({TEXT!r} -> ")


def test_a_model_beside_itself_with_interventions(workshop) -> None:  # type: ignore[no-untyped-def]
    model = workshop.model("transformer")
    first = model.translate(TEXT).tokens[0].text.strip()
    changed = model.edit(mask_head("cross", 0, 0), ban(first))
    _, column = side_by_side([model, changed], TEXT).columns
    assert [op["op"] for op in column.trace.manifest["interventions"]] == ["mask_head", "ban"]
    assert column.trace.manifest["decode"]["ban"] == [first]
    assert column.trace.id == changed.trace(TEXT).id
    tree = column.trace.beam()
    assert tree is not None
    assert [tree["nodes"][n]["id"] for n in tree["chosen"][1:]] == column.trace.target_ids
