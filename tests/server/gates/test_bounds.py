"""Bounds that a server's limits set: in force for its requests and its own description, and nowhere else."""

from typing import Annotated, Any

import httpx2
import pytest
from pydantic import TypeAdapter, ValidationError
from tests.server.conftest import Serve

from jumok.server.gates.bounds import IN_FORCE, AtMost, within
from jumok.server.gates.limits import DEFAULTS, Limits

FIELDS: list[tuple[Any, Any, Any, str, str]] = [
    (int, 3, 4, "Input should be less than or equal to 3", "maximum"),
    (str, "abc", "abcd", "String should have at most 3 characters", "maxLength"),
    (list[int], [1] * 3, [1] * 4, "List should have at most 3 items after validation, not 4", "maxItems"),
    (
        dict[str, int],
        dict.fromkeys("abc", 1),
        dict.fromkeys("abcd", 1),
        "Dictionary should have at most 3 items after validation, not 4",
        "maxProperties",
    ),
]


@pytest.mark.parametrize(("kind", "good", "bad", "message", "word"), FIELDS)
def test_a_bound_is_said_in_the_words_of_pydantic(
    kind: Any, good: Any, bad: Any, message: str, word: str
) -> None:
    field = TypeAdapter(Annotated[kind, AtMost("texts")])
    with within(Limits(texts=3)):
        assert field.validate_python(good) == good
        with pytest.raises(ValidationError) as found:
            field.validate_python(bad)
        assert found.value.errors()[0]["msg"] == message
        assert field.json_schema()[word] == 3
    assert field.validate_python(bad) == bad
    assert field.json_schema()[word] == DEFAULTS.texts


def test_below_a_limit() -> None:
    field = TypeAdapter(Annotated[int, AtMost("n_best", below=True)])
    assert field.validate_python(15) == 15
    with pytest.raises(ValidationError, match="Input should be less than 16"):
        field.validate_python(16)
    assert field.json_schema() == {"type": "integer", "exclusiveMaximum": 16}


def test_limits_are_in_force_while_the_block_lasts() -> None:
    with within(Limits(queue=1)):
        assert IN_FORCE.get().queue == 1
    assert IN_FORCE.get() is DEFAULTS


def ask(client: httpx2.Client, path: str, **body: Any) -> tuple[int, str]:
    answer = client.post(path, json={"beam": 1, "max_len": 2, **body})
    return answer.status_code, str(answer.json().get("detail", answer.json().get("error", "")))


def test_a_server_with_other_limits_keeps_to_them_and_describes_them(serve: Serve) -> None:
    """Above the defaults and below them, in `/v1`, in LibreTranslate's form and in the OpenAPI document."""
    limits = Limits(texts=70, characters=6000, beam=2, n_best=3, depth=3, new_tokens=600, work=1 << 20)
    with serve(limits=limits) as running, running.client() as client:
        assert ask(client, "/v1/translate", texts=["a"] * 70)[0] == 200
        assert ask(client, "/v1/translate", texts=["a"] * 71) == (
            422,
            "texts: list should have at most 70 items, not 71",
        )
        assert ask(client, "/v1/translate", texts=[" " * 5999 + "a"])[0] == 200
        longest = (422, "texts.0: string should have at most 6000 characters")
        assert ask(client, "/v1/translate", texts=[" " * 6000 + "a"]) == longest
        fewest = (422, "beam: input should be less than or equal to 2")
        assert ask(client, "/v1/translate", texts=["a"], beam=3) == fewest
        assert ask(client, "/v1/translate", texts=["a"], max_len=600)[0] == 200
        deep = (400, "the body has more than 3 lists or objects inside each other")
        assert ask(client, "/v1/translate", texts=[[["a"]]]) == deep
        libre = {"q": "a", "source": "en", "target": "ko"}
        assert ask(client, "/translate", **libre, alternatives=3)[0] == 400
        assert ask(client, "/translate", **{**libre, "q": [[["a"]]]}) == deep
        fields = client.get("/openapi.json").json()["components"]["schemas"]["TranslateRequest"]["properties"]
        assert fields["texts"]["maxItems"] == 70
        assert fields["beam"]["anyOf"][0]["maximum"] == 2
        assert client.get("/v1/models/rnn").json()["limits"]["characters"] == 6000
