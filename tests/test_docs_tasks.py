"""The commands of each task's page, run one after the other on data so small that nothing can be learned."""

import gzip
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from jumok.cli.main import cli
from jumok.data import builtin
from tests.test_docs import blocks

ROOT = Path(__file__).parents[1]
PAGES = sorted(page for page in ROOT.glob("docs/tasks/*.md") if ".ko." not in page.name)  # the same commands
TINY = {
    "MODEL__ENCODER_LAYERS": 1,
    "MODEL__DECODER_LAYERS": 1,
    "MODEL__WIDTH": 16,
    "MODEL__HEADS": 2,
    "MODEL__FEEDFORWARD": 32,
    "TEXT__VOCABULARY": 300,
    "TRAINING__BATCH_TOKENS": 1500,
    "TRAINING__MAX_STEPS": 4,
    "TRAINING__WARMUP": 1,
    "TRAINING__VALIDATE_EVERY": 4,
    "TRAINING__VALID_SENTENCES": 4,
    "DECODING__MAX_LEN": 6,
}
WORDS = [
    "we",
    "moved",
    "the",
    "budget",
    "meeting",
    "from",
    "Tuesday",
    "to",
    "Thursday",
    "a",
    "new",
    "printer",
]


def commands(page: Path) -> list[str]:
    """The lines of a page that begin with `jumok` or pipe into it, but for those that wait for a browser."""
    lines = [
        line
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.language == "sh"
        for line in block.text.replace("\\\n", " ").splitlines()
    ]
    return [line for line in lines if line.startswith(("jumok ", "echo "))]


def sentence(draw: Random, most: int) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randrange(2, most)))


def write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def texts(folder: Path, draw: Random) -> None:
    """Long text and short text; what is tested has a second reference for every other line."""
    sizes = dict.fromkeys(("mails", "talk", "words", "dut", "kor", "vie"), 40) | {"talk.test": 4, "test": 6}
    for name, count in sizes.items():
        rows = [[sentence(draw, 20), sentence(draw, 4)] for _ in range(count)]
        if name == "test":
            rows[::2] = [[*row, sentence(draw, 4)] for row in rows[::2]]
        write_lines(folder / f"{name}.tsv", ["\t".join(row) for row in rows])
    write_lines(folder / "bodies.txt", [sentence(draw, 20) for _ in range(3)])
    write_lines(folder / "notes.txt", ["The lamp is on.", "The door is open."])


def questions(folder: Path, draw: Random) -> None:
    for split, count in (("train", 40), ("valid", 4), ("test", 4)):
        lines = [
            {"context": sentence(draw, 12), "question": sentence(draw, 5), "answer": draw.choice(WORDS)}
            for _ in range(count)
        ]
        write_lines(folder / f"data/questions/{split}.jsonl.gz", [json.dumps(line) for line in lines])
        for name in (split, f"{split}-swapped"):
            write_lines(
                folder / f"data/caption-questions/{name}.jsonl.gz", [json.dumps(line) for line in lines]
            )


def pictures(folder: Path, draw: Random) -> None:
    from PIL import Image

    (folder / "pictures").mkdir()
    names = ["one.png", "two.png", *(f"{n}.png" for n in range(30))]
    for name in names:
        Image.new("RGB", (8, 8), tuple(draw.choices(range(256), k=3))).save(folder / "pictures" / name)
    write_lines(folder / "captions.tsv", [f"{name}\t{sentence(draw, 4)}" for name in names])
    write_lines(
        folder / "test.tsv", [f"{name}\t{sentence(draw, 4)}\t{sentence(draw, 4)}" for name in names[:3]]
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in, where trainings are tiny and the built-in sets have a hundred lines."""
    for name, value in TINY.items():
        monkeypatch.setenv(f"JUMOK_{name}", str(value))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    whole: Callable[[str, builtin.Split], Path] = builtin.builtin_file

    def beginning(name: str, split: builtin.Split) -> Path:
        lines = gzip.decompress(whole(name, split).read_bytes()).decode().splitlines()
        made = tmp_path / "sets" / name / f"{split}.tsv.gz"
        write_lines(made, lines[: 100 if split == "train" else 5])
        zipped = whole(name, split).with_name("images.zip")
        if zipped.exists() and not made.with_name(zipped.name).exists():
            made.with_name(zipped.name).symlink_to(zipped)
        return made

    monkeypatch.setattr(builtin, "builtin_file", beginning)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_task_run(page: Path, place: Path) -> None:
    draw = Random(1)
    texts(place, draw)
    questions(place, draw)
    if page.stem == "describe":
        pictures(place, draw)
    lines = commands(page)
    assert len(lines) >= 4
    answers: dict[str, str] = {}
    for line in lines:
        before, _, command = line.rpartition("| ")
        said = " ".join(shlex.split(before)[1:]) + "\n" if before else ""
        words = shlex.split(command, comments=True)
        assert words.pop(0) == "jumok"
        result = CliRunner().invoke(cli, words, input=said)
        assert result.exit_code == 0, f"{line}: {result.output}{result.exception}"
        answers[line] = result.stdout
    if page.stem == "chat":  # the page says so
        assert answers[lines[2]] == answers[lines[4]]
