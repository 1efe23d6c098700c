"""What the browser tests look at: a folder of training runs and evaluations, some of it hostile."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.run.conftest import quick_settings, write_corpus

from jumok.evaluation.evaluate import score_texts
from jumok.run.train import train

HOSTILE = "<img src=x onerror=document.title='hacked'></script><script>document.title='hacked'</script> </s>"
"""Text that a careless page would run, with a piece that looks like one of the vocabulary."""

HOSTILE_RUN = "<b>run"


def make_runs(folder: Path, corpus: Path) -> Path:
    """`demo/luong`: a real run with probes; `live`: tests write on it; `<b>run`: hostile in every text."""
    train(out=folder / "demo" / "luong", overrides=quick_settings(write_corpus(corpus, 60)), device="cpu")
    write_run(folder / "live", events_until(20, sample="1998년 3월 24일"))
    write_run(folder / HOSTILE_RUN, events_until(10, sample=HOSTILE))
    for name, errors in {"rnn": 3, "luong": 1, "transformer": 0}.items():
        write_evaluation(folder / HOSTILE_RUN / "eval", name, errors)
    return folder


def write_run(folder: Path, events: Iterator[dict[str, Any]]) -> None:
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        '[model]\narch = "transformer"\n[training]\nmax_steps = 100\n', encoding="utf-8"
    )
    append(folder, *events)


def append(folder: Path, *events: dict[str, Any], torn: bool = False) -> None:
    """Write events as a trainer does; `torn` leaves the last line as a crash or a full disk would."""
    text = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events)
    with (folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write(text[: -len(text) // 3] if torn else text)


def train_event(step: int) -> dict[str, Any]:
    return {
        "type": "train",
        "step": step,
        "epoch": 0,
        "loss": 6 - step / 25,
        "lr": 1e-3,
        "grad_norm": 1.5,
        "tokens_per_s": 900.0,
        "elapsed_s": step / 2,
    }


def valid_event(step: int, sample: str) -> dict[str, Any]:
    rows = [{"src": sample, "ref": "1998-03-24", "hyp": f"1998-03-{step:02d}", "score": -0.5}]
    return {"type": "valid", "step": step, "loss": 4.0, "bleu": step / 2, "chrf": 40.0, "samples": rows}


def events_until(last: int, *, sample: str) -> Iterator[dict[str, Any]]:
    yield {"type": "start", "run": "x"}
    for step in range(1, last + 1):
        yield train_event(step)
        if step % 10 == 0:
            yield valid_event(step, sample)
    yield {"type": "notice", "level": "warning", "code": "loss_spike", "message": sample, "step": last // 2}


def write_evaluation(folder: Path, name: str, errors: int) -> None:
    """An eval/1 file over lengths of 1 to 30 words; the sentences and their order are the same for all."""
    draw = random.Random(1)
    sources = [" ".join(f"w{draw.randrange(50)}" for _ in range(1 + n % 30)) for n in range(120)]
    sources[0] = sources[29] = HOSTILE
    spoilt = [" ".join(word if i % 7 >= errors else "?" for i, word in enumerate(s.split())) for s in sources]
    report = score_texts(spoilt, sources, sources, name=name, data="browser", bootstrap=20)
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(report.to_json(), encoding="utf-8")
