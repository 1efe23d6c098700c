"""`/v1/translate` and `/v1/score` over HTTP."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from tests.decoding.conftest import TINY, untrained
from tests.server.conftest import Running, Serve

from jumok.decoding.translator import Translator
from jumok.server.gates.limits import Limits
from jumok.server.translate.routes import ordered


def translate(client: httpx2.Client, **body: Any) -> Any:
    answer = client.post("/v1/translate", json={"beam": 2, "max_len": 6, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("model", TINY)
def test_a_translation_is_that_of_the_library(
    client: httpx2.Client, tiny_models: dict[str, Translator], model: str
) -> None:
    texts = ["a man", "", "나는 어제"]
    answer = translate(client, model=model, texts=texts, n_best=2)
    assert answer["model"] == model
    assert answer["ms"] >= 0
    expected = tiny_models[model].translate(texts, beam=2, max_len=6, n_best=2)
    for found, own in zip(answer["results"], expected, strict=True):
        assert found["text"] == own.text
        assert found["finished"] == own.finished
        assert [one["text"] for one in found["alternatives"]] == [one.text for one in own.alternatives]
        assert [token["id"] for token in found["tokens"]] == [token.id for token in own.tokens]
        assert found["score"] == pytest.approx(sum(token["logprob"] for token in found["tokens"]))


def test_how_new_a_text_is_to_a_model_that_knows_its_training(trio_running: Running) -> None:
    with httpx2.Client(base_url=trio_running.url) as client:
        texts = ["5. März 2024", "나는 어제 영화를 봤다.", ""]
        known, strange, blank = (one["novelty"] for one in translate(client, texts=texts)["results"])
        told = client.post("/v1/translate/stream", json={"text": texts[1], "beam": 2, "max_len": 6}).text
    assert known == {"pairs": 9, "unseen": 0, "strange": False}
    assert strange == {"pairs": 29, "unseen": 29, "strange": True}
    assert blank == {"pairs": 0, "unseen": 0, "strange": False}
    assert json.loads(told.rpartition("data: ")[2])["novelty"] == strange


def test_a_model_that_does_not_know_its_training_says_nothing(client: httpx2.Client) -> None:
    assert "novelty" not in translate(client, texts=["a man"])["results"][0]


def test_the_first_model_is_the_default(client: httpx2.Client) -> None:
    assert translate(client, texts=["a"])["model"] == "rnn"


@pytest.mark.parametrize("name", ["none", "../rnn", "rnn/", "RNN", "%2e%2e", "rnn\x00", "<b>"])
def test_an_unknown_model_is_a_404_that_says_what_is_known(client: httpx2.Client, name: str) -> None:
    answer = client.post("/v1/translate", json={"model": name, "texts": ["a"]})
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_model")
    meant = "did you mean 'rnn'?" if "rnn" in name else "known: luong, rnn, transformer"
    assert answer.json()["detail"] == meant


def test_options_reach_the_search(client: httpx2.Client) -> None:
    [plain] = translate(client, texts=["a man"])["results"]
    first = plain["text"].split()[0]
    [banned] = translate(client, texts=["a man"], ban=[first])["results"]
    assert first not in banned["text"]
    [begun] = translate(client, texts=["a man"], prefix="the dog", max_len=12)["results"]
    assert begun["text"].startswith("the dog")
    two = translate(client, texts=["a man", "a dog"], prefix=["one", "two"], max_len=12)["results"]
    assert [one["text"][:3] for one in two] == ["one", "two"]
    [drawn], [again], [other] = (
        translate(client, texts=["a man"], sample=True, seed=seed, max_len=8)["results"] for seed in (1, 1, 2)
    )
    assert drawn == again
    assert drawn != other


def test_terms_of_a_glossary(client: httpx2.Client) -> None:
    asked = {"texts": ["a man", "the dog"], "glossary": {"man": ["하늘", "영화"]}, "max_len": 24}
    first, second = translate(client, **asked)["results"]
    assert first["terms"] == [{"source": "man", "targets": ["하늘", "영화"], "present": True}]
    assert "하늘" in first["text"] or "영화" in first["text"]
    assert "terms" not in second
    [soft] = translate(client, **{**asked, "texts": ["a man"], "glossary_mode": "soft"})["results"]
    assert soft["terms"][0]["present"] == ("하늘" in soft["text"] or "영화" in soft["text"])


@pytest.mark.parametrize(
    ("glossary", "detail"),
    [
        ({"a": "b", "A": "c"}, "glossary: keep one of the lines"),
        ({"a": " "}, "glossary: leave the line out, or write both sides"),
        ({"a": []}, "glossary: list should have at least 1 item"),
        ({"a": "x" * 201}, "glossary: string should have at most 200 characters"),
        ({str(n): "x" for n in range(501)}, "glossary: "),
        ("terms.tsv", "glossary: "),
    ],
)
def test_a_glossary_that_cannot_be(client: httpx2.Client, glossary: object, detail: str) -> None:
    answer = client.post("/v1/translate", json={"texts": ["a"], "glossary": glossary})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(detail)


def test_the_best_of_many_draws(client: httpx2.Client, tiny_models: dict[str, Translator]) -> None:
    options = {"mbr": 6, "utility": "rouge1", "temperature": 0.5, "n_best": 3}
    [found] = translate(client, model="luong", texts=["a man"], beam=None, **options)["results"]
    expected = tiny_models["luong"].translate("a man", max_len=6, **options)
    assert found["text"] == expected.text
    assert [one["text"] for one in found["alternatives"]] == [one.text for one in expected.alternatives]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"n_best": 3, "beam": 2}, "these options cannot work together: a beam of 2 gives at most 2 answers"),
        ({"mbr": 1}, "mbr: a single draw is typical of itself: give 0, or 2 and more"),
        (
            {"min_len": 9, "max_len": 8},
            "these options cannot work together: min_len is above decoding.max_len=8",
        ),
        ({"ban": ["GEHEIM"], "prefix": "GEHEIM"}, "these options cannot work together: take the text out"),
        (
            {"prefix": "one two three four", "max_len": 4},
            "these options cannot work together: set max_len to",
        ),
        ({"prefix": ["a", "b"]}, "prefix: give one for all texts, or one for each"),
        ({"ban": [""]}, "ban.0: string should have at least 1 character"),
        ({"ban": ["  "]}, "these options cannot work together: give at least one character"),
        ({"top_p": 0}, "top_p: input should be greater than 0"),
        ({"temperature": 1e9}, "temperature: input should be less than or equal to 100"),
        ({"seed": -1}, "seed: input should be greater than or equal to 0"),
        ({"mbr": 257}, "mbr: input should be less than or equal to 64"),
        ({"mbr": 4, "beam": 2}, "these options cannot work together: mbr draws its answers by itself"),
        ({"mbr": 4, "sample": True}, "these options cannot work together: mbr draws its answers by itself"),
        ({"utility": "bleu"}, "utility: input should be 'chrf' or 'rouge1'"),
    ],
)
def test_options_that_cannot_work_say_why_but_not_what_was_sent(
    client: httpx2.Client, body: dict[str, Any], detail: str
) -> None:
    answer = client.post("/v1/translate", json={"texts": ["a man"], **body})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_parameter"), answer.text
    assert answer.json()["detail"].startswith(detail)
    assert "GEHEIM" not in answer.text


@pytest.mark.parametrize("model", TINY)
def test_alignments_link_words(client: httpx2.Client, model: str) -> None:
    texts = ["a man rides", "", "a man rides a horse. the dog sees a man! one two three four"]
    results = translate(client, model=model, texts=texts, align=True)["results"]
    if model == "rnn":
        assert [one["align"] for one in results] == [None, None, None]
        return
    pairs = [tuple(map(int, link.split("-"))) for link in results[0]["align"].split()]
    words = results[0]["text"].split()
    assert all(source < 3 and target < max(len(words), 1) for source, target in pairs)
    assert results[1]["align"] is None
    assert "links" not in results[1]
    for link in results[0]["links"]:
        assert texts[0][slice(*link["source"])].strip()
        assert results[0]["text"][slice(*link["target"])].strip()
        assert 0 <= link["weight"] <= 1
    whole = translate(client, model=model, texts=texts[2:], align=True, sentences="as-is")["results"][0]
    for one in (results[2], whole):  # in sentences, or in parts that the model can take
        assert len(one["sentences"]) > 1
        pairs = [tuple(map(int, link.split("-"))) for link in one["align"].split()]
        assert max(source for source, _ in pairs) > 4
        assert all(source < 18 for source, _ in pairs)
    assert "align" not in translate(client, model=model, texts=["a"])["results"][0]


def test_a_paragraph_is_translated_sentence_by_sentence(client: httpx2.Client) -> None:
    text = "- A man rides.  The dog sees!\n\n  One two three.\n"
    sentences = ["A man rides.", "The dog sees!", "One two three."]
    found, *each = translate(client, model="luong", texts=[text, *sentences])["results"]
    assert found["text"] == "- {}  {}\n\n  {}\n".format(*(one["text"] for one in each))
    for span, one, sentence in zip(found["sentences"], each, sentences, strict=True):
        assert text[slice(*span["source"])] == sentence
        assert found["text"][slice(*span["text"])] == one["text"]
        assert found["tokens"][slice(*span["tokens"])] == one["tokens"]
    [whole] = translate(client, model="luong", texts=[text], sentences="as-is", long="cut")["results"]
    assert "sentences" not in whole
    answer = client.post("/v1/sentences", json={"model": "luong", "text": text}).json()
    assert answer == {"model": "luong", "sentences": sentences}
    answer = client.post("/v1/sentences", json={"text": "a. B.", "sentences": "as-is"}).json()
    assert answer["sentences"] == ["a. B."]
    assert client.post("/v1/sentences", json={"text": "a", "sentences": "each"}).status_code == 422


def test_scores_are_those_of_the_library(client: httpx2.Client, tiny_models: dict[str, Translator]) -> None:
    sources, targets = ["a man", "the dog"], ["x y", ""]
    answer = client.post("/v1/score", json={"model": "luong", "sources": sources, "targets": targets}).json()
    expected = tiny_models["luong"].score(sources, targets)
    for found, own in zip(answer["results"], expected, strict=True):
        assert found["score"] == pytest.approx(own.score, abs=1e-4)
        assert [token["text"] for token in found["tokens"]] == [token.text for token in own.tokens]


def test_scores_need_as_many_targets_and_stay_in_the_limits(client: httpx2.Client) -> None:
    answer = client.post("/v1/score", json={"sources": ["a"], "targets": ["a", "b"]})
    assert (answer.status_code, answer.json()["detail"]) == (422, "targets: give one target for each source")
    answer = client.post("/v1/score", json={"sources": ["a"], "targets": ["a " * 513]})
    assert answer.json()["detail"] == "target text 1 has 513 tokens, and 512 are allowed"
    assert answer.json()["code"] == "too_long"
    answer = client.post("/v1/score", json={"sources": ["a"] * 65, "targets": ["a"] * 65})
    assert answer.json()["code"] == "too_many_texts"


def test_doubts_are_those_of_the_library(serve: Serve, trio: dict[str, Translator]) -> None:
    text = "the 11th of June in 98"
    with serve(models=trio) as running, running.client() as client:
        body = {"model": "rnn", "texts": [text, " "], "confidence": True, "n_best": 2}
        found, blank = client.post("/v1/translate", json=body).json()["results"]
        own = trio["rnn"].translate(text, confidence=True, n_best=2).to_dict()["confidence"]
        assert found["confidence"] == {**own, "sentences": [own["change"]], "words": words_of(own)}
        assert "confidence" not in found["alternatives"][0]
        assert "confidence" not in blank
        [plain] = client.post("/v1/translate", json={**body, "texts": [text], "confidence": False}).json()[
            "results"
        ]
        assert "confidence" not in plain
        events = client.post("/v1/translate/stream", json={"model": "rnn", "text": text, "confidence": True})
        final = json.loads(events.text.rpartition("data: ")[2])
        assert final["confidence"]["change"] == pytest.approx(found["confidence"]["change"], abs=2e-3)
        assert client.get("/v1/models/rnn").json()["confidence"] is True
        drawn = client.post("/v1/translate", json={**body, "sample": True, "n_best": 1}).json()
        assert (drawn["code"], drawn["field"]) == ("not_calibrated", "confidence")


def words_of(confidence: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**word, "text": list(word["text"])} for word in confidence["words"]]


def test_a_model_that_is_not_calibrated_says_so(client: httpx2.Client) -> None:
    answer = client.post("/v1/translate", json={"texts": ["a man"], "confidence": True})
    assert (answer.status_code, answer.json()["code"]) == (422, "not_calibrated")
    assert answer.json()["detail"].startswith("the model has not been calibrated")


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what leaves the event loop."""
    seen: list[str] = []

    async def note(function: Any, *args: Any) -> Any:
        seen.append(function.__name__)
        return function(*args)

    monkeypatch.setattr("jumok.server.translate.routes.asyncio.to_thread", note)
    return seen


@pytest.mark.parametrize(
    ("body", "aside"),
    [
        ({"texts": ["a man"]}, []),
        ({"texts": ["a" * 250] * 2}, []),
        ({"texts": ["a" * 250, "a" * 251]}, ["make_order"]),
        ({"texts": ["a" * 480], "prefix": "b" * 20, "max_len": 40}, []),
        ({"texts": ["a" * 480], "prefix": "b" * 21, "max_len": 40}, ["make_order"]),
        ({"texts": ["a" * 230] * 2, "prefix": ["b" * 20] * 2, "max_len": 40}, []),
        ({"texts": ["a" * 230] * 2, "prefix": ["b" * 21] * 2, "max_len": 40}, ["make_order"]),
        ({"texts": ["a man"], "no_repeat_ngram": 2}, ["make_order"]),
        ({"texts": ["a man"], "ban": ["e"]}, ["make_order"]),
        ({"texts": ["a man"], "glossary": {"man": "Mann"}, "max_len": 12}, ["make_order"]),
        ({"texts": ["a man"], "ban": []}, []),
        ({"texts": ["a man"] * 10, "beam": 8, "n_best": 8, "min_len": 6}, []),
        ({"texts": ["a man"] * 11, "beam": 8, "n_best": 8, "min_len": 6}, ["timed_answer"]),
    ],
)
def test_only_what_takes_a_while_leaves_the_event_loop(
    client: httpx2.Client, in_threads: list[str], body: dict[str, Any], aside: list[str]
) -> None:
    answer = translate(client, **body)
    assert len(answer["results"]) == len(body["texts"])
    assert in_threads == aside


@pytest.mark.parametrize(("own", "aside"), [(0, []), (2, ["make_order"])])
def test_so_does_what_a_folder_asks_of_torch(in_threads: list[str], own: int, aside: list[str]) -> None:
    served: Any = SimpleNamespace(translator=Translator(untrained(TINY["rnn"], no_repeat_ngram=own)))
    services: Any = SimpleNamespace(limits=Limits())
    order = asyncio.run(ordered(served, services, ["a man"], {}))
    assert order.texts == ("a man",)
    assert in_threads == aside
