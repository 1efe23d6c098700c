"""Questions about captions: each has one answer, which stands word for word in one caption of its context."""

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_caption_questions.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_caption_questions", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load()
CAPTIONS = [
    "A man in a red shirt is sitting on a bench.",
    "Two women are talking near the old station.",
    "A dog runs through tall grass",
    "The singer holds a microphone.",
    "Some bread lies beside a knife.",
]


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        (
            "A man in a red shirt is sitting on a bench.",
            [
                ("What color is the shirt?", "red"),
                ("Who is sitting on a bench?", "A man in a red shirt"),
                ("What is a man in a red shirt doing?", "sitting on a bench"),
                ("Where is a man in a red shirt sitting?", "on a bench"),
            ],
        ),
        (
            "Two women are talking in front of the station.",
            [
                ("How many women are there?", "Two"),
                ("Who are talking in front of the station?", "Two women"),
                ("What are two women doing?", "talking in front of the station"),
                ("Where are two women talking?", "in front of the station"),
            ],
        ),
        ("A dog runs through tall grass", []),
        ("A black and white dog is barking.", []),  # which color, and nobody is a person
        ("A man is standing in a red coat.", ["What color", "Who is", "What is"]),  # a coat is no place
        ("A man, who sings, is walking.", []),
    ],
)
def test_what_can_be_asked_about_a_caption(caption: str, expected: list[tuple[str, str] | str]) -> None:
    found = [(question, answer) for question, answer, _ in script.questions_about(caption)]
    assert len(found) == len(expected)
    for one, wanted in zip(found, expected, strict=True):
        assert one[0].startswith(wanted) if isinstance(wanted, str) else one == wanted


def test_an_answer_stands_in_one_caption_of_three() -> None:
    found = list(script.examples(CAPTIONS, "train"))
    assert {one["question"].split()[0] for one in found} == {"What", "Who", "Where", "How"}
    for one in found:
        assert sum(caption.rstrip(".") in one["context"] for caption in CAPTIONS) == 3
        assert one["answer"] in one["context"]
    assert found == list(script.examples(CAPTIONS, "train"))


def test_a_question_that_two_captions_answer_is_not_asked() -> None:
    shirts = [
        f"A man in a {color} shirt is {doing}."
        for color in ("red", "blue")
        for doing in ("waiting", "eating")
    ]
    asked = [one["question"] for one in script.examples(shirts, "train")]
    assert "Who is waiting?" not in asked  # every context has three of these four
    assert "What color is the shirt?" not in asked


def test_a_swapped_question_has_the_context_of_another() -> None:
    found = list(script.examples(CAPTIONS, "train"))
    other = script.swapped(found)
    assert [(one["question"], one["answer"]) for one in other] == [
        (one["question"], one["answer"]) for one in found
    ]
    assert sorted(one["context"] for one in other) == sorted(one["context"] for one in found)
    assert other[0]["context"] == found[len(found) // 2]["context"]


def test_the_files_have_a_line_for_each_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("train", "val", "test_2016_flickr"):
        lines = "".join(f" {caption}\n" for caption in [*CAPTIONS, CAPTIONS[0]])  # untidy, and one twice
        (tmp_path / f"{name}.en.gz").write_bytes(gzip.compress(lines.encode()))
    for name in ("a", "b"):
        script.main(tmp_path, tmp_path / name)
    assert "questions" in capsys.readouterr().out
    for split in ("train", "valid", "test"):
        data = (tmp_path / "a" / f"{split}.jsonl.gz").read_bytes()
        assert data == (tmp_path / "b" / f"{split}.jsonl.gz").read_bytes()
        lines = gzip.decompress(data).decode().splitlines()
        assert [json.loads(line) for line in lines] == list(script.examples(CAPTIONS, split))
