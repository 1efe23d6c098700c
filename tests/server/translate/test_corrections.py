"""A server with a memory answers from it; corrections are kept where someone asked for it, all of them."""

import gc
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from libretranslatepy import LibreTranslateAPI
from tests.server.conftest import Running, Serve
from tests.server.documents.conftest import translated
from tests.server.translate.test_libretranslate import speaking

from jumok.data.corpus import open_corpus
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
from jumok.server.gates.limits import Limits
from jumok.terms.memory import read_memory

PAIR = {"source": "Ein Haus.", "target": "A house."}


@pytest.fixture(scope="module")
def models() -> dict[str, Translator]:
    return {"de-en": speaking("luong", "de", "en"), "en-ko": speaking("rnn", "en", "ko")}


@pytest.fixture
def keeping(serve: Serve, models: dict[str, Translator], tmp_path: Path) -> Iterator[Running]:
    limits = Limits(corrections=1000)
    with serve(models=models, remember=tmp_path / "kept.tmx", limits=limits) as found:
        yield found


def pairs_in(path: Path, columns: str = "") -> list[tuple[str, str]]:
    return list(open_corpus(str(path), columns=columns).pairs())


def test_without_a_file_corrections_are_turned_away(client: httpx2.Client) -> None:
    answer = client.post("/v1/corrections", json=PAIR)
    assert (answer.status_code, answer.json()["code"]) == (403, "corrections_off")
    assert answer.json()["detail"].endswith("it was started without --remember FILE")


def test_without_a_file_suggestions_are_turned_away(serve: Serve, models: dict[str, Translator]) -> None:
    with serve(models=models) as own, own.client() as client:
        fields = {"q": "Ein Haus.", "s": "A house.", "source": "de", "target": "en"}
        answer = client.post("/suggest", json=fields)
        assert answer.status_code == 403
        assert answer.json()["error"].startswith("this server does not remember corrections")
        assert client.get("/frontend/settings").json()["suggestions"] is False


def test_corrections_are_kept_and_are_a_memory(keeping: Running, tmp_path: Path) -> None:
    with keeping.client() as client:
        answer = client.post("/v1/corrections", json=PAIR)
        assert answer.json() == {"remembered": True, "source_language": "de", "target_language": "en"}
        both = {"q": "Zwei\nHäuser.", "s": "Two houses.", "source": "de", "target": "en"}
        assert client.post("/suggest", json=both).json() == {"success": True}
        assert client.post("/suggest", data=both | {"q": "Drei."}).json() == {"success": True}
        parts = {name: (None, value) for name, value in (both | {"q": "Vier."}).items()}
        assert client.post("/suggest", files=parts).json() == {"success": True}
        korean = {"model": "en-ko", "source": "a house", "target": "집"}
        assert client.post("/v1/corrections", json=korean).json()["target_language"] == "ko"
        assert client.get("/frontend/settings").json()["suggestions"] is True
    path = tmp_path / "kept.tmx"
    assert [source for source, _ in pairs_in(path, "de,en")] == [
        "Ein Haus.",
        "Zwei Häuser.",
        "Drei.",
        "Vier.",
    ]
    assert read_memory(path, ("en", "ko")).exact("a house").target == "집"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"source": "a"}, 422, "bad_parameter"),
        ({"source": " ", "target": "b"}, 422, "bad_parameter"),
        ({"source": "a", "target": "\n"}, 422, "bad_parameter"),
        ({"source": "a" * 5001, "target": "b"}, 422, "too_long"),
        ({"source": "a", "target": "b", "model": "no"}, 404, "unknown_model"),
        ({"source": "a", "target": "b", "more": 1}, 422, "bad_parameter"),
    ],
)
def test_what_is_no_correction(
    keeping: Running, body: dict[str, str], status: int, code: str, tmp_path: Path
) -> None:
    with keeping.client() as client:
        answer = client.post("/v1/corrections", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert (tmp_path / "kept.tmx").read_bytes() == b""


def test_many_at_once_lose_and_mix_nothing(keeping: Running, tmp_path: Path) -> None:
    def send(number: int) -> int:
        with keeping.client() as client:
            found = [
                client.post(
                    "/v1/corrections", json={"source": f"Satz {number} {n}", "target": f"line {number} {n}"}
                )
                for n in range(10)
            ]
        return sum(answer.status_code == 200 for answer in found)

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(send, range(8))) == 80
    found = pairs_in(tmp_path / "kept.tmx")
    assert len(found) == len(set(found)) == 80
    assert all(source.removeprefix("Satz") == target.removeprefix("line") for source, target in found)


def test_one_client_has_a_pace(serve: Serve, models: dict[str, Translator], tmp_path: Path) -> None:
    with serve(models=models, remember=tmp_path / "a.tsv", limits=Limits(corrections=2)) as own:
        with own.client() as client:
            answers = [client.post("/v1/corrections", json=PAIR) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[2].json()["code"] == "too_often"
        assert 0 < int(answers[2].headers["Retry-After"]) <= 61


def test_a_table_holds_one_pair_of_languages(
    serve: Serve, models: dict[str, Translator], tmp_path: Path
) -> None:
    path = tmp_path / "a.tsv"
    with serve(models=models, remember=path) as own, own.client() as client:
        assert client.post("/v1/corrections", json=PAIR).status_code == 200
        answer = client.post("/v1/corrections", json={"model": "en-ko", "source": "a", "target": "가"})
        assert answer.status_code == 422
        assert answer.json()["detail"] == "a.tsv holds de → en, not en → ko"
    assert path.read_text() == "source_de\ttarget_en\nEin Haus.\tA house.\n"


def test_two_servers_cannot_have_one_file(
    serve: Serve, models: dict[str, Translator], keeping: Running
) -> None:
    with pytest.raises(ConfigError, match="another process writes corrections to"):
        serve(models=models, remember=keeping.services.settings.remember).__enter__()


@pytest.fixture
def recalling(serve: Serve, models: dict[str, Translator], tmp_path: Path) -> Iterator[Running]:
    (tmp_path / "m.tsv").write_text(
        "de\ten\nEin Haus steht da.\tA house stands there.\nZwei Katzen laufen.\tTwo cats run.\n"
    )
    with serve(models=models, memory=str(tmp_path / "m.tsv")) as found:
        yield found


def test_a_memory_answers_in_documents(recalling: Running) -> None:
    with recalling.client() as client:
        known, other = translated(client, b"Ein Haus steht da."), translated(client, b"Zwei Hunde laufen.")
        texts = [client.get(f"/v1/documents/{one['id']}/file").text for one in (known, other)]
    assert texts[0] == "A house stands there."
    assert texts[1] != "Two cats run."


def test_a_memory_answers_and_shows(recalling: Running) -> None:
    model = recalling.services.models["de-en"].translator
    texts = ["Ein Haus steht da.", "Zwei Hunde laufen.", "Ein Haus steht da. Wer ist das?"]
    with recalling.client() as client:
        one, two, three = client.post("/v1/translate", json={"texts": texts}).json()["results"]
        plain = client.post("/v1/translate", json={"texts": texts, "memory": False}).json()["results"]
        aligned = client.post("/v1/translate", json={"texts": texts[:1], "align": True}).json()["results"]
    assert one["text"] == "A house stands there."
    assert one["tokens"] == []
    [match] = one["matches"]
    assert match == {
        "span": [0, 18], "source": texts[0], "target": "A house stands there.", "score": 1.0, "used": True,
    }  # fmt: skip
    assert two["text"] == plain[1]["text"]
    assert [(m["target"], m["used"]) for m in two["matches"]] == [("Two cats run.", False)]
    assert three["text"] == f"A house stands there. {model.translate('Wer ist das?').text}"
    assert "matches" not in plain[0]
    assert plain[0]["text"] == aligned[0]["text"] == model.translate(texts[0]).text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_real_client_gets_what_is_remembered(recalling: Running) -> None:
    api = LibreTranslateAPI(recalling.url)
    assert api.translate("Ein Haus steht da.", "de", "en") == "A house stands there."
    model = recalling.services.models["en-ko"]
    assert model.memory is None  # the file is of other languages
    assert api.translate("a man", "en", "ko") == model.translator.translate("a man").text
    gc.collect()


def test_a_memory_for_no_model_is_refused(
    serve: Serve, models: dict[str, Translator], tmp_path: Path
) -> None:
    (tmp_path / "m.csv").write_text("fr,nl\nune maison,een huis\n")
    with pytest.raises(ConfigError, match="is a memory for none of these models"):
        serve(models=models, memory=str(tmp_path / "m.csv")).__enter__()


@pytest.mark.slow
def test_a_server_that_is_killed_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    path, done = tmp_path / "kept.tmx", 0
    command = [
        sys.executable,
        "-m",
        "jumok",
        "serve",
        "demo/rnn",
        "--port",
        "0",
        "--remember",
        str(path),
        "-q",
    ]
    for _ in range(2):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with httpx2.Client(base_url=url, timeout=120) as client:
            for number in range(5):
                body = {"source": f"Satz {done}", "target": "lang " * 500}
                assert client.post("/v1/corrections", json=body).status_code == 200, number
                done += 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert [source for source, _ in pairs_in(path)] == [f"Satz {number}" for number in range(10)]
