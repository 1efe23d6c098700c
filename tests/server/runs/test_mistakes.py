"""Mistakes over HTTP: as the analysis tells them, within limits."""

import httpx2
import pytest

from jumok.config import DecodingConfig
from jumok.evaluation.document import MistakesDocument
from jumok.evaluation.mistakes import Pair, Scored, find_mistakes

LINES = [
    {"source": "x", "reference": "a b", "hypothesis": "b a"},
    {"source": "y", "reference": "<b>", "hypothesis": ""},
    {
        "source": "z",
        "reference": "a",
        "hypothesis": "c",
        "score": {"score": -1.0, "tokens": 1},
        "reference_score": {"score": -1.9, "tokens": 7},
    },
]


def post(client: httpx2.Client, **body: object) -> httpx2.Response:
    return client.post("/v1/mistakes", json=body)


@pytest.mark.parametrize(("alpha", "cause"), [(1.0, "search"), (0.0, "model")])
def test_kinds_and_causes(client: httpx2.Client, alpha: float, cause: str) -> None:
    found = post(client, lines=LINES, length_penalty=alpha).raise_for_status().json()
    MistakesDocument.model_validate(found)
    scores = (Scored(-1.0, 1), Scored(-1.9, 7))
    pairs = [Pair("x", ("a b",), "b a"), Pair("y", ("<b>",), ""), Pair("z", ("a",), "c", *scores)]
    own = find_mistakes(pairs, alpha=alpha).to_dict()
    assert found["kinds"] == own["kinds"]
    assert found["causes"] == {cause: 1}
    assert [line["line"] for line in found["lines"]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"lines": []}, "lines: list should have at least 1 item"),
        ({"lines": [LINES[0]] * 1001}, "lines: list should have at most 1000 items"),
        ({"lines": [{"source": "x", "reference": "a"}]}, "lines.0.hypothesis: field required"),
        ({"lines": [{**LINES[0], "source": "a" * 5001}]}, "lines.0.source: string should have at most 5000"),
        ({"lines": [{**LINES[0], "score": {"score": -1, "tokens": 0}}]}, "lines.0.score.tokens"),
        ({"lines": LINES, "length_penalty": 11}, "length_penalty: input should be less than"),
        ({"lines": LINES, "model": "rnn"}, "model"),
    ],
)
def test_what_is_refused(client: httpx2.Client, body: dict[str, object], said: str) -> None:
    answer = post(client, **body)
    assert answer.status_code == 422
    assert said in answer.json()["detail"].lower()


def test_scores_are_compared_with_the_length_penalty_that_searches_have_unless_told(
    client: httpx2.Client,
) -> None:
    """Seven tokens are divided by 2 ** 1: -1.9 then beats -1, and -2.5 does not, as it would by 2 ** 2."""
    lines = [LINES[2], {**LINES[2], "reference_score": {"score": -2.5, "tokens": 7}}]
    found = post(client, lines=lines).raise_for_status().json()
    assert found["causes"] == {"search": 1, "model": 1}
    assert found == post(client, lines=lines, length_penalty=DecodingConfig().length_penalty).json()
