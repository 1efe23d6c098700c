"""Cards and positions."""

from dataclasses import asdict

import httpx2
import pytest
import torch
from tests.decoding.conftest import TINY

from jumok.config import TransformerConfig
from jumok.models.build import build_model
from jumok.nn.positions import sinusoidal


def test_all_cards_in_the_order_of_the_command(client: httpx2.Client) -> None:
    cards = client.get("/v1/models").json()["models"]
    assert [card["name"] for card in cards] == list(TINY)
    assert cards[2] == client.get("/v1/models/transformer").json()


def test_a_card_says_what_the_model_is(client: httpx2.Client) -> None:
    card = client.get("/v1/models/luong").json()
    assert (card["arch"], card["source_language"], card["target_language"]) == ("luong", "en", "ko")
    assert (card["parameters"], card["max_length"], card["d_model"]) == (7, 12, 16)
    assert (card["score"], card["positions"]) == ("general", None)
    assert card["kinds"] == {"cross": {"layers": 1, "heads": 1, "d_head": 16}}
    assert card["decoding"]["beam"] == 5
    assert "batch_tokens" not in card["decoding"]
    assert (card["run"], card["examples"]) == (None, [])
    assert (card["context"], card["source"], card["image"]) == (False, "text", None)
    assert card["confidence"] is False


def test_a_card_says_how_scores_are_made(client: httpx2.Client) -> None:
    cards = client.get("/v1/models").json()["models"]
    assert {card["name"]: card["score"] for card in cards} == {
        "rnn": None,
        "luong": "general",
        "transformer": "scaled_dot",
    }


def test_positions_are_the_rows_that_the_model_adds(client: httpx2.Client) -> None:
    answer = client.get("/v1/models/transformer/positions?n=3").json()
    assert answer["positions"] == "sinusoidal"
    assert torch.tensor(answer["rows"]).equal(sinusoidal(torch.arange(3), 16))
    assert len(client.get("/v1/models/transformer/positions").json()["rows"]) == 64
    assert client.get("/v1/models/rnn/positions").json() == {"positions": None, "rows": None}


@pytest.mark.parametrize("n", ["0", "1025", "-1", "x", "1.5", ""])
def test_a_wrong_number_of_positions_is_refused(client: httpx2.Client, n: str) -> None:
    answer = client.get(f"/v1/models/rnn/positions?n={n}")
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_parameter")
    assert answer.json()["detail"].startswith("n: input should be")


@pytest.mark.parametrize("positions", ["learned", "rotary", "relative", "none"])
def test_position_rows_of_other_kinds(positions: str) -> None:
    config = TransformerConfig(**asdict(TINY["transformer"]) | {"positions": positions, "max_positions": 5})
    model = build_model(config, 300, 300, shared=True)
    rows = model.position_rows(8)
    match positions:
        case "learned":
            assert rows is not None
            assert rows.equal(model.source_positions.table)  # type: ignore[arg-type]
        case "rotary":
            assert rows is not None
            assert rows.equal(sinusoidal(torch.arange(8), 8))
        case "relative":
            assert rows is not None
            assert rows[:2].equal(model.encoder_bias.weight[:2])  # type: ignore[index,union-attr]
        case "none":
            assert rows is None


@pytest.mark.parametrize("name", ["none", "..%2f..", "%00", "RNN", "rnn%20", "x" * 129])
def test_unknown_names_are_404(client: httpx2.Client, name: str) -> None:
    for path in (f"/v1/models/{name}", f"/v1/models/{name}/positions"):
        assert client.get(path).status_code in (404, 422)
