"""Training and quality over HTTP, from a real server that looks at real folders."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.run.conftest import quick_settings, write_corpus
from tests.server.conftest import Running, Serve, serving, wait_until

from jumok.decoding.translator import Translator
from jumok.evaluation.evaluate import score_texts
from jumok.run.train import RunCallbacks, train
from jumok.seals import unsealed
from jumok.server.events import Event
from jumok.server.gates.limits import Limits
from jumok.server.runs.routes import follow
from jumok.server.settings import ServerSettings


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: one that has ended, with an evaluation, and several that are broken."""
    folder = tmp_path_factory.mktemp("runs")
    corpus = write_corpus(tmp_path_factory.mktemp("corpus"), 60)
    train(out=folder / "demo" / "luong", overrides=quick_settings(corpus), device="cpu")
    (folder / "demo" / "luong" / "eval").mkdir()
    report = score_texts(["a b", "c"], ["a b", "d"], ["x", "y"], name="luong", data="two", bootstrap=10)
    (folder / "demo" / "luong" / "eval" / "two.json").write_text(report.to_json(), encoding="utf-8")
    (folder / "demo" / "luong" / "eval" / "torn.json").write_text(report.to_json()[:90], encoding="utf-8")
    for name, events in {
        "empty": b"",
        "garbage": b"\xff\x00\n{\n",
        "torn": b'{"type": "start"}\n{"type',
    }.items():
        (folder / name).mkdir()
        (folder / name / "metrics.jsonl").write_bytes(events)
    (folder / "garbage" / "config.toml").write_bytes(b"\xff= [")
    (folder / "torn" / "probes").mkdir()
    (folder / "torn" / "probes" / "step-0000005.safetensors").write_bytes(b"\x08\x00\x00")
    return folder


@pytest.fixture(scope="module")
def server(root: Path, tiny_models: dict[str, Translator], static: Path) -> Iterator[Running]:
    with serving({"rnn": tiny_models["rnn"]}, ServerSettings(port=0, static=static, runs=root)) as found:
        yield found


@pytest.fixture(scope="module")
def runs(server: Running) -> Iterator[httpx2.Client]:
    with server.client() as client:
        yield client


def test_all_runs_are_listed(runs: httpx2.Client) -> None:
    found = {one["name"]: one for one in runs.get("/v1/runs").raise_for_status().json()["runs"]}
    assert list(found) == ["demo~luong", "empty", "garbage", "torn"]
    done = found["demo~luong"]
    assert (done["title"], done["status"], done["arch"]) == ("demo/luong", "completed", "luong")
    assert (done["step"], done["max_steps"]) == (6, 6)
    assert found["garbage"]["arch"] is None


@pytest.mark.parametrize("name", ["demo~luong", "empty", "garbage", "torn"])
def test_every_run_can_be_shown(runs: httpx2.Client, name: str) -> None:
    found = runs.get(f"/v1/runs/{name}").raise_for_status().json()
    names = found["series"] or ["train.loss"]
    series = runs.get(f"/v1/runs/{name}/series", params={"name": names}).raise_for_status().json()["series"]
    assert list(series) == names
    for step in found["probes"]:
        assert runs.get(f"/v1/runs/{name}/probes/{step}").status_code == (404 if name == "torn" else 200)


def test_a_curve_has_no_more_points_than_asked_for(runs: httpx2.Client) -> None:
    query = {"name": "train.loss", "points": 4}
    curve = runs.get("/v1/runs/demo~luong/series", params=query).json()["series"]["train.loss"]
    assert len(curve["step"]) == len(curve["value"]) == len(curve["elapsed_s"]) == 4
    assert (curve["step"][0], curve["step"][-1]) == (1, 6)


def test_a_probe_has_labels_and_bytes_for_its_shape(runs: httpx2.Client) -> None:
    found = runs.get("/v1/runs/demo~luong/probes/6").json()
    assert found["step"] == 6
    for sentence in found["sentences"]:
        layers, heads, queries, keys = sentence["shape"]
        assert (layers, heads) == (1, 1)
        assert (queries, keys) == (len(sentence["target"]), len(sentence["source"]))
        assert sentence["source"][-1] == "</s>"


def test_evaluations_are_listed_and_shown(runs: httpx2.Client) -> None:
    (only,) = runs.get("/v1/evals").raise_for_status().json()["evals"]
    assert (only["id"], only["run"], only["model"], only["n"]) == ("demo~luong:two", "demo~luong", "luong", 2)
    assert set(only["metrics"]) == {"bleu", "chrf"}
    document = runs.get(f"/v1/evals/{only['id']}").raise_for_status().json()
    assert document["schema"] == "eval/1"
    assert document["by_length"]["bins"][0]["examples"][0] == document["examples"][0]["line"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/runs/none", 404, "unknown_run"),
        ("/v1/runs/..", 404, "not_found"),
        ("/v1/runs/%2e%2e", 404, "unknown_run"),
        ("/v1/runs/demo%2Fluong", 404, "not_found"),
        ("/v1/runs/a%00b", 404, "unknown_run"),
        ("/v1/runs/" + "x" * 512, 404, "unknown_run"),
        ("/v1/runs/" + "x" * 513, 422, "too_long"),
        ("/v1/runs/none/events", 404, "unknown_run"),
        ("/v1/runs/demo~luong/series", 422, "bad_parameter"),
        ("/v1/runs/demo~luong/series?name=train.loss&points=3", 422, "bad_parameter"),
        ("/v1/runs/demo~luong/series?name=train.loss&points=99999", 422, "bad_parameter"),
        ("/v1/runs/demo~luong/series?name=" + "&name=".join("x" * 33), 422, "bad_parameter"),
        ("/v1/runs/demo~luong/probes/5", 404, "unknown_probe"),
        ("/v1/runs/demo~luong/probes/-1", 422, "bad_parameter"),
        ("/v1/runs/demo~luong/probes/six", 422, "bad_parameter"),
        ("/v1/runs/torn/probes/5", 404, "unknown_probe"),
        ("/v1/runs/demo~luong/events?after=-1", 422, "bad_parameter"),
        ("/v1/evals/none", 404, "unknown_eval"),
        ("/v1/evals/demo~luong:torn", 404, "unknown_eval"),
    ],
)
def test_what_is_not_there_is_a_problem_with_a_code(
    runs: httpx2.Client, path: str, status: int, code: str
) -> None:
    answer = runs.get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == code


def events(client: httpx2.Client, path: str, count: int, **headers: str) -> list[dict[str, str]]:
    """The first events of a stream, as their fields."""
    found: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    with client.stream("GET", path, headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "data" in fields:
                found.append(fields)
                fields = {}
                if len(found) == count:
                    break
    return found


def test_events_are_told_from_the_start_and_go_on_after_the_last_one(runs: httpx2.Client, root: Path) -> None:
    lines = (root / "demo" / "luong" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    path = "/v1/runs/demo~luong/events"
    told = events(runs, path, len(lines))
    assert [json.loads(one["data"]) for one in told] == [unsealed(json.loads(line)) for line in lines]
    after = told[3]["id"]
    rest = told[4:]
    assert events(runs, path, len(rest), **{"Last-Event-ID": after}) == rest
    assert events(runs, f"{path}?after={after}", len(rest)) == rest
    assert events(runs, path, 1, **{"Last-Event-ID": "rubbish"}) == told[:1]
    assert events(runs, path, 1, **{"Last-Event-ID": "3"})[0]["event"] == "reset"


@pytest.fixture
def empty_runs(tmp_path: Path, serve: Serve) -> Iterator[httpx2.Client]:
    """A client of a server whose folder of runs is this test's own, and empty."""
    with serve(runs=tmp_path / "runs") as server, server.client() as client:
        yield client


def test_a_run_is_followed_while_it_is_trained(empty_runs: httpx2.Client, tmp_path: Path) -> None:
    runs = empty_runs
    given = quick_settings(write_corpus(tmp_path, 60), training__max_steps=4)

    seen = threading.Event()
    held = RunCallbacks(interrupted=lambda: not seen.wait(120))  # it begins when it has been looked at

    def learn() -> None:
        train(out=tmp_path / "runs" / "live", overrides=given, device="cpu", callbacks=held)

    trainer = threading.Thread(target=learn)
    trainer.start()
    wait_until(lambda: runs.get("/v1/runs/live").status_code != 404)
    assert runs.get("/v1/runs/live").json()["status"] == "running"
    seen.set()
    told: list[Any] = []
    while not told or told[-1]["type"] != "end":
        told = [json.loads(one["data"]) for one in events(runs, "/v1/runs/live/events", len(told) + 1)]
    trainer.join(120)
    assert [one["step"] for one in told if one["type"] == "train"] == [1, 2, 3, 4]
    assert runs.get("/v1/runs/live").json()["status"] == "completed"


def test_streams_have_a_limit_and_give_their_place_back(root: Path, serve: Serve) -> None:
    with serve(limits=Limits(streams=1), runs=root) as server, server.client() as client:
        with client.stream("GET", "/v1/runs/empty/events"):
            answer = client.get("/v1/runs/empty/events")
            assert (answer.status_code, answer.json()["code"]) == (429, "queue_full")
        wait_until(lambda: not server.services.streams.taken)
        assert len(events(client, "/v1/runs/torn/events", 1)) == 1


def test_without_a_folder_of_runs_the_lists_are_empty(client: httpx2.Client) -> None:
    assert client.get("/v1/runs").json() == {"runs": []}
    assert client.get("/v1/evals").json() == {"evals": []}


async def take(count: int, path: Path, offset: int = 0) -> list[Event]:
    """The next events, which must come soon."""
    found: list[Event] = []
    async with asyncio.timeout(120), aclosing(follow(path, offset, poll_s=0.01)) as events:
        while len(found) < count:
            found.append(await anext(events))
    return found


def line(number: int, **more: Any) -> bytes:
    return json.dumps({"type": "train", "step": number, **more}).encode() + b"\n"


def test_events_carry_the_offset_to_go_on_from(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line(1) + b"garbage\n" + line(2))
    first, second = asyncio.run(take(2, path))
    assert (first.name, first.data) == ("message", {"type": "train", "step": 1})
    assert int(first.id) == len(line(1))
    assert int(second.id) == path.stat().st_size
    (again,) = asyncio.run(take(1, path, int(first.id)))
    assert again.data == second.data


def test_what_is_written_later_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"

    async def write_and_read() -> list[Any]:
        reading = asyncio.ensure_future(take(3, path))
        for piece in (line(1)[:7], line(1)[7:] + line(2), line(3)):
            await asyncio.sleep(0.05)
            with path.open("ab") as file:
                file.write(piece)
        return [event.data for event in await reading]

    assert [data["step"] for data in asyncio.run(write_and_read())] == [1, 2, 3]


def test_a_file_that_was_replaced_is_told_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line(1) + line(2) + line(3))

    async def replace_and_read() -> list[Event]:
        found = []
        async with asyncio.timeout(120), aclosing(follow(path, poll_s=0.01)) as events:
            found += [await anext(events) for _ in range(3)]
            path.write_bytes(line(7))
            found += [await anext(events) for _ in range(2)]
        return found

    *_, reset, fresh = asyncio.run(replace_and_read())
    assert (reset.name, reset.data, reset.id) == ("reset", {}, "0")
    assert fresh.data == {"type": "train", "step": 7}


def test_an_offset_behind_the_end_of_a_file_is_a_reset(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line(1))
    reset, first = asyncio.run(take(2, path, 5000))
    assert (reset.name, first.data) == ("reset", {"type": "train", "step": 1})


def test_events_are_one_line_of_json_each(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line(1, text="a\nb\r\u2028<script>", loss=float("nan")))
    (event,) = asyncio.run(take(1, path))
    head, id, data, *rest = event.encode().decode().split("\n")
    assert (head, id) == ("event: message", f"id: {path.stat().st_size}")
    assert json.loads(data.removeprefix("data: "))["text"] == "a\nb\r\u2028<script>"
    assert rest == ["", ""]


def test_most_points_and_names_are_taken_and_one_more_is_refused(runs: httpx2.Client) -> None:
    where = "/v1/runs/demo~luong/series"
    for name, most in (("points", 10_000), ("name", 32)):
        for count, status in ((most, 200), (most + 1, 422)):
            query = {"name": ["x"] * count} if name == "name" else {"name": "x", "points": count}
            assert runs.get(where, params=query).status_code == status
