"""A model of several directions behind a server: its card, its pairs, a language chosen at request time."""

from collections.abc import Iterator

import httpx2
import pytest
from libretranslatepy import LibreTranslateAPI
from tests.decoding.test_directed import several
from tests.server.conftest import Running, serving

from jumok.decoding.translator import Translator
from jumok.server.settings import ServerSettings
from jumok.text.frame import Direction, tagged

PAIRS = (Direction("en", "de"), Direction("en", "fr"), Direction("de", "en"))


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    from dataclasses import replace

    loaded = several("jumok")
    own = replace(loaded, tokenizers=replace(loaded.tokenizers, frame=tagged(PAIRS)))
    models = {"three": Translator(own), "every": Translator(several("nllb", "luong"))}
    with serving(models, ServerSettings(port=0)) as found:
        yield found


@pytest.fixture
def client(running: Running) -> Iterator[httpx2.Client]:
    with running.client() as found:
        yield found


def test_the_card_says_what_can_be_chosen(client: httpx2.Client) -> None:
    three, every = client.get("/v1/models").json()["models"]
    assert three["directions"] == [{"source": one.source, "target": one.target} for one in PAIRS]
    assert (three["source_language"], three["target_language"]) == ("mul", "mul")
    assert (every["directions"], every["languages"]) == ([], ["de", "en", "fr"])


def test_a_language_is_chosen_at_request_time(client: httpx2.Client, running: Running) -> None:
    model = running.services.models["three"].translator
    for to in ("de", "fr"):
        body = {"model": "three", "texts": ["the dog"], "to": to}
        answer = client.post("/v1/translate", json=body).json()
        assert answer["results"][0]["text"] == model.translate("the dog", to=to).text


def test_a_stream_and_a_score_know_the_language(client: httpx2.Client, running: Running) -> None:
    model = running.services.models["every"].translator.towards("fr", "en")
    asked = {"model": "every", "to": "fr", "from_language": "en"}
    stream = client.post("/v1/translate/stream", json={**asked, "text": "the dog"}).text
    own = model.translate("the dog")
    assert f'"text":"{own.text}"' in stream.replace('": "', '":"').split("event: final")[1]
    body = {**asked, "sources": ["the dog"], "targets": [own.text]}
    score = client.post("/v1/score", json=body).json()["results"][0]["score"]
    assert score == pytest.approx(model.score("the dog", own.text).score, abs=1e-4)


def test_a_trace_shows_the_tag(client: httpx2.Client) -> None:
    trace = client.post("/v1/trace", json={"model": "three", "text": "the dog", "to": "fr"})
    assert trace.status_code == 200
    first = trace.json()["source"]["tokens"][0]
    assert (first["piece"], first["type"], first["span"]) == ("<2fr>", "special", None)


@pytest.mark.parametrize(
    ("fields", "status", "code", "says"),
    [
        ({}, 422, "no_language", "to: this model translates into de, en, fr: say which"),
        ({"to": "ko"}, 404, "unknown_language", "it has de, en, fr"),
        ({"to": "fr", "from_language": "de"}, 404, "unknown_direction", "en→de, en→fr, de→en"),
    ],
)
def test_what_is_missing_or_not_there_is_told(
    client: httpx2.Client, fields: dict[str, str], status: int, code: str, says: str
) -> None:
    answer = client.post("/v1/translate", json={"model": "three", "texts": ["a"], **fields})
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["field"]) == (status, code, "to")
    assert says in problem["detail"]


class TestLibreTranslate:
    def test_languages_are_the_true_pairs(self, client: httpx2.Client) -> None:
        found = {one["code"]: one["targets"] for one in client.get("/languages").json()}
        assert found == {"en": ["de", "fr"], "de": ["en", "fr"], "fr": ["de", "en"]}

    def test_the_target_chooses(self, running: Running) -> None:
        api = LibreTranslateAPI(f"{running.url}/")
        model = running.services.models["three"].translator
        assert api.translate("the dog", "en", "fr") == model.translate("the dog", to="fr").text
        assert api.translate("the dog", "de", "en") == model.translate("the dog", to="en").text

    def test_a_pair_that_only_the_second_model_has(self, running: Running) -> None:
        api = LibreTranslateAPI(f"{running.url}/")
        model = running.services.models["every"].translator
        own = model.translate("the dog", to="fr", from_language="de").text
        assert api.translate("the dog", "de", "fr") == own

    def test_one_that_none_has(self, client: httpx2.Client) -> None:
        answer = client.post("/translate", json={"q": "a", "source": "en", "target": "ko"})
        assert answer.status_code == 400
        assert "no model for this language" in answer.json()["error"]
