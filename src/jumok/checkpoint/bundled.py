"""The small models that come with the package, and their names.

Three, one of each generation, read written dates in 20 languages and write ISO dates: `scripts/make_trio.py`
trained them. Others, in int8, translate short sentences from Korean and German to English, as they stand in a
program's menus and messages: `scripts/make_words.py`.
"""

from pathlib import Path

import jumok
from jumok.config import ARCHS

TRAINED = Path(jumok.__file__).parent / "trained"
RECORDS = TRAINED / "runs"
"""How they were trained and how good they are, as run folders without checkpoints."""

EXAMPLES = (
    "1998년 3월 24일 화요일",
    "den 5 mars 2024 kl. 14:30",
    "5. März 2024",
    "1998년 3월 24일 화요일 오후 8시 35분부터 1998년 11월 9일 월요일 오전 7시 12분까지",
)
"""Dates that show something: a short one, a time, another script, and one too long for a fixed vector."""
SENTENCES: dict[str, tuple[str, ...]] = {
    "dates": EXAMPLES,
    "homeassistant-ko-en": (
        "일치하는 통계를 찾을 수 없습니다.",
        "비밀번호가 잘못되었습니다.",
        "미리 보기 기능을 비활성화하시겠습니까?",
    ),
    "homeassistant-de-en": (
        "Bist du sicher, dass du diese Quelle entfernen willst?",
        "Die Tür wurde geöffnet.",
        "Mit der Lichtkarte kannst du die Helligkeit des Lichts ändern.",
    ),
}
"""Sentences that show something, by the set that a model has learned; none is in its training data."""
WAYS = ("ko-en", "de-en")
"""Directions of the models that translate."""


def bundled() -> dict[str, Path]:
    """The folder of each model of dates by its architecture."""
    return {arch: TRAINED / arch for arch in ARCHS}


def translators() -> dict[str, Path]:
    """The folder of each model that translates, by its name; of a direction the Transformer first."""
    named = (f"{way}-{arch}" for way in WAYS for arch in reversed(ARCHS))
    return {name: TRAINED / name for name in named if (TRAINED / name).is_dir()}


def bundled_names() -> dict[str, Path]:
    """The folder of each model by the name it has wherever a model is asked for: `demo/rnn` and so on.

    `demo/ko-en` is the best of that direction.
    """
    own, ways = bundled() | translators(), dict[str, Path]()
    for name, folder in translators().items():
        ways.setdefault(name.rpartition("-")[0], folder)
    return {f"demo/{name}": folder for name, folder in (own | ways).items()}


def aliases_of(folder: Path) -> tuple[str, ...]:
    """All names of a bundled model, with and without `demo/`; none for any other."""
    found = [name for name, place in bundled_names().items() if place == named_folder(folder)]
    return (*found, *(name.removeprefix("demo/") for name in found))


def examples_of(folder: Path) -> tuple[str, ...]:
    """Sentences that show something, for a bundled model; none for any other."""
    if folder.parent != TRAINED:
        return ()
    return SENTENCES.get(f"homeassistant-{folder.name.rpartition('-')[0]}", EXAMPLES)


def named_folder(path: Path) -> Path:
    """The folder that a path means: itself, or a bundled model if there is no such folder but such a name."""
    return path if path.exists() else bundled_names().get(path.as_posix(), path)
