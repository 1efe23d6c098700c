"""Requests that LibreTranslate's clients send, replayed: names, shapes and errors are theirs."""

import asyncio
import gc
import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import httpx2
import pytest
from libretranslatepy import LibreTranslateAPI
from tests.decoding.conftest import TINY, untrained
from tests.server.conftest import Running, Serve, serving

from jumok.config import DataConfig, DecodingConfig
from jumok.decoding.translator import Translator
from jumok.server.gates.problems import Problem
from jumok.server.services import Services
from jumok.server.settings import ServerSettings
from jumok.server.translate.libretranslate import (
    ERRORS,
    LibreError,
    frontend_settings,
    guess_all,
    languages,
    pick,
    read_parts,
    several,
)


def speaking(name: str, source: str, target: str) -> Translator:
    """A tiny model between two languages."""
    from dataclasses import replace

    loaded = untrained(TINY[name], beam=2)
    data = DataConfig(max_length=12, source_language=source, target_language=target)
    return Translator(replace(loaded, config=replace(loaded.config, data=data)))


@pytest.fixture(scope="module")
def polyglot() -> Iterator[Running]:
    models = {
        "ko-en": speaking("luong", "ko", "en"),
        "en-ko": speaking("rnn", "en", "ko"),
        "ko-en-2": speaking("transformer", "ko", "en"),
        "en-de": speaking("luong", "en", "de"),
    }
    with serving(models, ServerSettings(port=0)) as found:
        yield found


@pytest.fixture(scope="module")
def libre(polyglot: Running) -> Iterator[httpx2.Client]:
    with polyglot.client() as found:
        yield found


def test_one_text_as_the_javascript_client_sends_it(libre: httpx2.Client, polyglot: Running) -> None:
    body = {"q": "a man", "source": "en", "target": "ko", "format": "text", "alternatives": 0, "api_key": ""}
    answer = libre.post("/translate", content=json.dumps(body), headers={"Content-Type": "application/json"})
    own = polyglot.services.models["en-ko"].translator.translate("a man").text
    assert answer.json() == {"translatedText": own}


def test_several_texts_and_alternatives(libre: httpx2.Client) -> None:
    body = {"q": ["a man", "", "the dog"], "source": "en", "target": "ko", "alternatives": 3}
    answer = libre.post("/translate", json=body).json()
    assert [type(one) for one in answer["translatedText"]] == [str, str, str]
    assert answer["translatedText"][1] == ""
    assert [len(one) for one in answer["alternatives"]] == [3, 0, 3]
    assert "detectedLanguage" not in answer


@pytest.mark.parametrize("usual", [{"mbr": 4}, {"mbr": 2}, {"sample": True, "n_best": 2}])
def test_alternatives_are_found_in_the_models_usual_way(usual: dict[str, Any]) -> None:
    model = Translator(untrained(TINY["luong"], **usual))
    body = {"q": "a man", "source": "en", "target": "ko", "alternatives": 2}
    with serving({"drawn": model}, ServerSettings(port=0)) as running, running.client() as client:
        answer = client.post("/translate", json=body).json()
        plain = client.post("/translate", json={**body, "alternatives": 0}).json()
    options = {"mbr": max(usual["mbr"], 3)} if "mbr" in usual else {}
    expected = model.translate("a man", n_best=3, **options)
    assert answer["translatedText"] == expected.text
    assert answer["alternatives"] == [one.text for one in expected.alternatives]
    assert plain["translatedText"] == model.translate("a man", n_best=1).text


def test_auto_says_what_it_detected(libre: httpx2.Client) -> None:
    answer = libre.post("/translate", json={"q": "나는 어제", "source": "auto", "target": "en"}).json()
    assert answer["detectedLanguage"] == {"confidence": 100.0, "language": "ko"}
    both = {"q": ["나는 어제", "a man"], "source": "auto", "target": "en"}
    answer = libre.post("/translate", json=both)
    assert answer.status_code == 400  # nothing translates English into English
    assert answer.json() == {"error": "target: no model for this language; GET /languages lists them"}


def test_a_form_as_the_python_client_sends_it(libre: httpx2.Client) -> None:
    fields = {"q": "a man & <b>", "source": "en", "target": "ko"}
    as_form = libre.post("/translate", data=fields)
    assert as_form.json() == libre.post("/translate", json=fields).json()
    more = libre.post("/translate", data={**fields, "format": "text", "alternatives": "2", "api_key": "x"})
    assert len(more.json()["alternatives"]) == 2


def test_the_first_named_model_serves_a_pair(libre: httpx2.Client, polyglot: Running) -> None:
    answer = libre.post("/translate", json={"q": "나는 어제", "source": "ko", "target": "en"}).json()
    own = polyglot.services.models["ko-en"].translator.translate("나는 어제").text
    assert answer["translatedText"] == own


def test_languages(libre: httpx2.Client) -> None:
    assert libre.get("/languages").json() == [
        {"code": "ko", "name": "Korean", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": ["ko", "de"]},
    ]


def test_detect(libre: httpx2.Client) -> None:
    found = libre.post("/detect", json={"q": "나는 어제 영화를 봤다."}).json()
    assert found == [{"confidence": 100.0, "language": "ko"}, {"confidence": 0.0, "language": "en"}]
    assert libre.post("/detect", json={"q": "the dog sees a man"}).json()[0]["language"] == "en"


def test_health_and_settings(libre: httpx2.Client) -> None:
    assert libre.get("/health").json() == {"status": "ok"}
    settings = libre.get("/frontend/settings").json()
    assert {".txt", ".html"} <= set(settings.pop("supportedFilesFormat"))
    assert settings == {
        "apiKeys": False,
        "charLimit": 5000,
        "frontendTimeout": 500,
        "keyRequired": False,
        "language": {
            "source": {"code": "ko", "name": "Korean"},
            "target": {"code": "en", "name": "English"},
        },
        "suggestions": False,
    }


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({}, 400, "q: field required"),
        ({"q": "a"}, 400, "source: field required"),
        ({"q": "a", "source": "en"}, 400, "target: field required"),
        ({"q": 1, "source": "en", "target": "ko"}, 400, "q: input should be a valid string"),
        ({"q": ["a", 1], "source": "en", "target": "ko"}, 400, "q.1: input should be a valid string"),
        ({"q": "a", "source": "xx", "target": "ko"}, 400, "source: no model for this language"),
        ({"q": "a", "source": "en", "target": "xx"}, 400, "target: no model for this language"),
        ({"q": "a", "source": "en", "target": "ko", "format": "md"}, 400, "format: text and html can"),
        (
            {"q": "a", "source": "en", "target": "ko", "alternatives": 16},
            400,
            "alternatives: input should be less",
        ),
        (
            {"q": "a", "source": "en", "target": "ko", "alternatives": -1},
            400,
            "alternatives: input should be greater",
        ),
        (
            {"q": ["a"] * 100, "source": "en", "target": "ko"},
            400,
            "q: list should have at most 64 items, not 100",
        ),
        (
            {"q": "GEHEIM" * 1000, "source": "en", "target": "ko"},
            400,
            "q: string should have at most 5000 characters",
        ),
        (
            {"q": ["a", "GEHEIM" * 1000], "source": "en", "target": "ko"},
            400,
            "q.1: string should have at most 5000 characters",
        ),
        (["q"], 400, "body: an object is needed"),
    ],
)
def test_errors_are_in_its_form(libre: httpx2.Client, body: Any, status: int, error: str) -> None:
    answer = libre.post("/translate", json=body)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert answer.json()["error"].startswith(error)
    assert "GEHEIM" not in answer.text


def test_errors_of_the_gates_are_in_its_form_too(polyglot: Running) -> None:
    asked = b'{"q": "a", "source": "en", "target": "ko"}'
    for headers, status in (
        ({"Host": "evil.test"}, 400),
        ({"Origin": "http://evil.test"}, 403),
        ({"Content_Type": "text/plain"}, 400),
        ({"Content_Encoding": "gzip"}, 400),
    ):
        found, answer = polyglot.post_raw("/translate", asked, **headers)
        assert (found, list(answer)) == (status, ["error"])
    assert polyglot.post_raw("/translate", b"{")[0] == 400
    assert polyglot.post_raw("/translate", b" " * ((1 << 20) + 1)) == (
        413,
        {"error": "the body has more than 1,048,576 bytes"},
    )


@pytest.mark.parametrize(
    ("form", "error"),
    [
        (b"q=%ff&source=en&target=ko", "the form is not UTF-8"),
        (b"q=\xff&source=en&target=ko", "the form is not UTF-8"),
        (b"&".join(b"f%d=1" % n for n in range(17)), "a form has at most 16 fields"),
        (b"", "q: field required"),
    ],
)
def test_bad_forms(polyglot: Running, form: bytes, error: str) -> None:
    kind = "application/x-www-form-urlencoded"
    assert polyglot.post_raw("/translate", form, Content_Type=kind) == (400, {"error": error})


def test_other_routes_take_no_forms(polyglot: Running) -> None:
    kind = "application/x-www-form-urlencoded"
    status, answer = polyglot.post_raw("/v1/translate", b"texts=a", Content_Type=kind)
    assert (status, answer["detail"]) == (415, "the content type must be application/json in UTF-8")


def test_a_form_in_parts_as_a_page_sends_it(libre: httpx2.Client) -> None:
    fields = {"q": "a man\r\n & <b> 나", "source": "en", "target": "ko"}
    as_parts = {name: (None, text) for name, text in fields.items()}
    assert libre.post("/translate", files=as_parts).json() == libre.post("/translate", json=fields).json()
    assert libre.post("/detect", files=as_parts).json() == libre.post("/detect", json=fields).json()


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        (b"q", "the form has no parts: its boundary is missing or wrong"),
        (b'--b\r\nContent-Disposition: form-data; name="q"\r\n\r\n\xff\r\n--b--', "the form is not UTF-8"),
        (
            b'--b\r\nContent-Disposition: form-data; name="q"; filename="f"\r\n\r\na\r\n--b--',
            "q: field required",
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="q"\r\n\r\na\r\n' * 17 + b"--b--",
            "a form has at most 16 fields",
        ),
    ],
)
def test_bad_parts(polyglot: Running, parts: bytes, error: str) -> None:
    kind = "multipart/form-data; boundary=b"
    assert polyglot.post_raw("/detect", parts, Content_Type=kind) == (400, {"error": error})


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # it leaves its connections open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("key", [None, "a-key"])
def test_the_real_client(polyglot: Running, serve: Serve, key: str | None) -> None:
    """`libretranslatepy`, as it is, with a key and without one."""
    models = {name: served.translator for name, served in polyglot.services.models.items()}
    with serve(models=models, keys=(key,) if key else ()) as own:
        api = LibreTranslateAPI(own.url, key)
        assert api.translate("a man", "en", "ko") == models["en-ko"].translate("a man").text
        assert api.detect("나는 어제 영화를 봤다.")[0] == {"confidence": 100.0, "language": "ko"}
        assert [one["code"] for one in api.languages()] == ["ko", "en"]
        if key:
            for ask in (lambda one: one.detect("a"), lambda one: one.languages()):
                for stranger in (LibreTranslateAPI(own.url), LibreTranslateAPI(own.url, "another")):
                    with pytest.raises(HTTPError) as refused:
                        ask(stranger)
                    assert refused.value.code == 403
                    refused.value.close()
    gc.collect()


def test_the_page_lives_beside_it(libre: httpx2.Client) -> None:
    assert libre.get("/translate").headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    ("usual", "found"),
    [
        ({"beam": 3}, [{"n_best": 1}, {"n_best": 2, "beam": 3}, {"n_best": 5, "beam": 5}]),
        ({"mbr": 4}, [{"n_best": 1}, {"n_best": 2, "mbr": 4}, {"n_best": 5, "mbr": 5}]),
        ({"sample": True}, [{"n_best": 1}, {"n_best": 2}, {"n_best": 5}]),
    ],
)
def test_a_search_is_wide_enough_for_its_answers(usual: dict[str, Any], found: list[dict[str, int]]) -> None:
    assert [several(DecodingConfig(**usual), count) for count in (1, 2, 5)] == found


def test_errors_are_described_in_its_form() -> None:
    assert sorted(ERRORS) == [400, 403, 405, 413, 429, 500, 503]
    assert all(one["model"] is LibreError for one in ERRORS.values())


def form_of(*names: bytes) -> bytes:
    parts = [b"Content-Disposition: form-data; name=%s\r\n\r\n%s\r\n" % (name, name[:1]) for name in names]
    return b"".join(b"--b\r\n" + part for part in parts) + b"--b--"


def test_sixteen_parts_are_read_and_what_is_no_field_is_not() -> None:
    kind = "multipart/form-data; boundary=b"
    names = [b"f%d" % n for n in range(16)]
    assert read_parts(kind, form_of(*names)) == {name.decode(): "f" for name in names}
    with pytest.raises(ValueError, match="^$"):
        read_parts(kind, form_of(*names, b"more"))
    odd = form_of(b"q", b'file; filename="f"').replace(b"--b--", b"--b\r\nX-No: name\r\n\r\nx\r\n--b--")
    assert read_parts(kind, odd) == {"q": "q"}


def test_null_is_what_is_usual_and_sixteen_fields_are_a_form(libre: httpx2.Client) -> None:
    asked = {"q": "a man", "source": "en", "target": "ko"}
    usual = libre.post("/translate", json=asked).json()
    nulls = {"api_key": None, "format": None, "alternatives": None}
    assert libre.post("/translate", json={**asked, **nulls}).json() == usual
    assert libre.post("/translate", data={**asked, **{f"x{n}": "1" for n in range(13)}}).json() == usual


@pytest.fixture(scope="module")
def nameless() -> Iterator[Services]:
    """Two models whose folders do not say what they translate."""
    models = {"one": speaking("rnn", "", ""), "two": speaking("luong", "", "ko")}
    services = Services(models, ServerSettings(port=0))
    yield services
    services.close()


def test_a_model_that_does_not_say_its_languages_has_undetermined_ones(nameless: Services) -> None:
    assert pick(nameless, "und", "und").name == "one"
    assert pick(nameless, "und", "ko").name == "two"
    for source, target, side in (("und", "en", "target"), ("en", "ko", "source"), ("", "und", "source")):
        with pytest.raises(Problem) as found:
            pick(nameless, source, target)
        assert (found.value.status_code, found.value.code, found.value.field) == (400, "bad_parameter", side)


def test_languages_are_guessed_of_models_that_read_text(nameless: Services) -> None:
    found = guess_all(["나는", "a"], nameless)
    assert [(one.language, one.confidence) for one in found] == [("und", 100.0)] * 2
    with pytest.raises(Problem, match="400") as refused:
        guess_all(["a"], Services({}, ServerSettings()))
    assert refused.value.sentence == "no model that reads text is loaded"
    assert guess_all([], nameless) == []


def test_undetermined_languages_are_listed_too(nameless: Services) -> None:
    nobody: Any = None  # without keys it does not matter who asks
    assert [one.model_dump() for one in asyncio.run(languages(nobody, nameless))] == [
        {"code": "und", "name": "Undetermined", "targets": ["und", "ko"]}
    ]
    shown = asyncio.run(frontend_settings(nobody, nameless))["language"]
    assert shown == {side: {"code": "und", "name": "Undetermined"} for side in ("source", "target")}
    empty = asyncio.run(frontend_settings(nobody, Services({}, ServerSettings())))["language"]
    assert (empty["source"]["code"], empty["target"]["code"]) == ("auto", "")
