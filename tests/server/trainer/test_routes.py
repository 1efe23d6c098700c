"""Training over HTTP: who may, within which limits, and one real run from pairs to a model that answers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.server.conftest import Running, Serve, serving, wait_until

from jumok.decoding.translator import Translator
from jumok.server.gates.limits import Limits
from jumok.server.settings import ServerSettings
from jumok.server.trainer import routes

WORDS = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "rot": "red", "blau": "blue"}
PAIRS = "\n".join(
    f"{a} {b} {c}\t{WORDS[a]} {WORDS[b]} {WORDS[c]}" for a in WORDS for b in WORDS for c in WORDS if a != c
)


def current(client: httpx2.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/v1/training").json()["current"]
    assert found["status"] != "failed", found["problem"]
    return found


def test_pairs_become_a_model_that_is_served(serve: Serve, tmp_path: Path) -> None:
    with serve(train_in=tmp_path / "runs") as running, running.client() as client:
        assert client.get("/v1/training").json() == {
            "off": None,
            "most_bytes": 4 << 20,
            "most_seconds": 3600,
            "current": None,
        }
        begun = client.post("/v1/training", json={"pairs": PAIRS, "arch": "luong", "seconds": 600})
        assert begun.status_code == 202
        assert (begun.json()["run"], begun.json()["pairs"]) == ("page-luong", 180)
        again = client.post("/v1/training", json={"pairs": PAIRS})
        assert (again.status_code, again.json()["code"]) == (409, "training_busy")
        # the page is closed: nobody asks, and it goes on; who comes back finds it
        wait_until(lambda: (current(client)["step"] or 0) >= 10)
        run = "/v1/training/page-luong"
        assert client.patch(run, json={"action": "pause"}).json()["status"] == "pausing"
        wait_until(lambda: current(client)["status"] == "paused")
        paused = current(client)["step"]
        assert client.patch(run, json={"action": "resume"}).json()["status"] == "starting"
        wait_until(lambda: (current(client)["step"] or 0) >= paused + 10)
        told = client.get("/v1/runs/page-luong").json()
        assert told["probes"][:2] == [0, 10]
        assert [one["step"] for one in told["samples"]][:2] == [0, 10]
        assert {"train.loss", "valid.loss"} <= {*told["series"]}
        assert client.patch(run, json={"action": "stop"}).json()["status"] == "stopping"
        wait_until(lambda: current(client)["status"] == "done")
        assert [one["name"] for one in client.get("/v1/models").json()["models"]][-1] == "page-luong"
        order = {"model": "page-luong", "texts": ["eins rot zwei"]}
        assert client.post("/v1/translate", json=order).json()["results"][0]["text"]
        assert client.get("/health/ready").status_code == 200


def test_the_oldest_model_goes_when_there_are_too_many(serve: Serve) -> None:
    with serve(limits=Limits(trained_models=1)) as running:
        services = running.services
        given = services.models["luong"]
        for name in ("a", "b"):
            services.add(services.make(name, given.translator, given.about))
        assert [*services.models][-1] == "b"
        assert "a" not in services.models
        told = [line for line in services.metrics.render().splitlines() if "model_info{" in line]
        assert any('model="b"' in line for line in told)
        assert not any('model="a"' in line for line in told)


@pytest.mark.parametrize(
    ("settings", "headers", "off"),
    [
        ({}, {}, None),
        ({}, {"X-Forwarded-For": "203.0.113.9"}, "not_allowed"),
        ({"allowed_hosts": ("mt.example.org",)}, {}, "not_allowed"),
        ({"trusted_proxies": ("127.0.0.1",)}, {}, "not_allowed"),
        ({"host": "0.0.0.0", "insecure": True}, {}, "not_allowed"),
        ({"host": "0.0.0.0", "insecure": True, "allow_training": True}, {}, None),
        ({"train_in": None}, {}, "not_allowed"),
    ],
)
def test_who_may_train(
    serve: Serve, tmp_path: Path, settings: dict[str, Any], headers: dict[str, str], off: str | None
) -> None:
    with (
        serve(**{"train_in": tmp_path / "runs", **settings}) as running,
        running.client(headers=headers) as client,
    ):
        assert client.get("/v1/training").json()["off"] == off
        checked = client.post("/v1/training/check", json={"pairs": "a\tb"})
        assert checked.status_code == (403 if off else 200)
        if off:
            refused = client.post("/v1/training", json={"pairs": PAIRS})
            assert (refused.status_code, refused.json()["code"]) == (403, "training_off")
            assert refused.json()["detail"] == routes.OFF
            assert not (tmp_path / "runs").exists()


def test_other_pages_and_callers_without_a_key_are_turned_away(serve: Serve, tmp_path: Path) -> None:
    with serve(train_in=tmp_path / "runs", keys=("k" * 16,)) as running, running.client() as client:
        foreign = {"Origin": "https://evil.example", "Authorization": f"Bearer {'k' * 16}"}
        bodies = {"json": {"pairs": PAIRS}}
        assert client.post("/v1/training", headers=foreign, **bodies).json()["code"] == "foreign_origin"
        change = client.patch("/v1/training/x", headers=foreign, json={"action": "stop"})
        assert change.json()["code"] == "foreign_origin"
        assert client.post("/v1/training", **bodies).json()["code"] == "key_missing"
        named = {"Host": "evil.example", "Authorization": f"Bearer {'k' * 16}"}
        assert client.post("/v1/training", headers=named, **bodies).json()["code"] == "bad_host"
        simple = {"Content-Type": "text/plain", "Authorization": f"Bearer {'k' * 16}"}
        plain = client.post("/v1/training", headers=simple, content=b'{"pairs": "a"}')
        assert plain.json()["code"] == "bad_content_type"
        assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def small(
    tmp_path_factory: pytest.TempPathFactory, tiny_models: dict[str, Translator], static: Path
) -> Iterator[Running]:
    """A server with little room for training."""
    settings = ServerSettings(
        port=0,
        static=static,
        limits=Limits(training_bytes=2000, training_s=30.0),
        train_in=tmp_path_factory.mktemp("small") / "runs",
    )
    with serving(tiny_models, settings) as found:
        yield found


@pytest.mark.parametrize(
    ("body", "status", "code", "detail"),
    [
        ({"pairs": "a\tb\n" * 600}, 413, "too_large", "pairs to train on may have 2,000 bytes"),
        (
            {"pairs": "a\tb", "seconds": 31},
            422,
            "bad_parameter",
            "seconds: input should be less than or equal to 30",
        ),
        (
            {"source": "a\nb", "target": "a"},
            422,
            "bad_pairs",
            "unequal line counts, line 2: source has 2 lines and target has 1; "
            "source:2: the first line that seems to have no partner",
        ),
        (
            {"pairs": "a\tb"},
            422,
            "bad_pairs",
            "1 pairs are too few to learn from: two are the least",
        ),
    ],
)
def test_what_cannot_be_trained_on(
    small: Running, body: dict[str, Any], status: int, code: str, detail: str
) -> None:
    with small.client() as client:
        refused = client.post("/v1/training", json=body)
    assert (refused.status_code, refused.json()["code"], refused.json()["detail"]) == (status, code, detail)


def test_a_run_that_is_not_this_servers_is_unknown(small: Running) -> None:
    with small.client() as client:
        refused = client.patch("/v1/training/other", json={"action": "stop"})
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_training")


def test_without_torch_the_line_to_install_it_is_said(
    small: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "has_torch", lambda: False)
    with small.client() as client:
        assert client.get("/v1/training").json()["off"] == "no_torch"
        refused = client.post("/v1/training", json={"pairs": PAIRS[:1000]})
    assert (refused.status_code, refused.json()["code"]) == (422, "extra_missing")
    assert refused.json()["detail"] == "training needs PyTorch: pip install 'jumok[train]'"
