"""What a shell offers for the values of options: models, architectures, data sets and files."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem

DEPTH, LOOKED_AT = 3, 2000  # folders below the one that is typed, and how many of them: a shell waits


class Word(click.types.StringParamType):
    """A text like any other, for which a shell is offered words."""

    def words(self, incomplete: str) -> list[str]:
        """All that could be meant."""
        return []

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self.words(incomplete) if word.startswith(incomplete)]


class ArchWord(Word):
    def words(self, incomplete: str) -> list[str]:
        from jumok.config import ARCHS

        return list(ARCHS)


class PresetWord(Word):
    def words(self, incomplete: str) -> list[str]:
        from jumok.presets import PRESETS

        return list(PRESETS)


class DataWord(Word):
    def words(self, incomplete: str) -> list[str]:
        from jumok.data.builtin import BUILTIN

        return list(BUILTIN)


class FileWord(Word):
    """The shell's own files."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class ModelWord(Word):
    """Runs, model folders and the models that come with jumok; where there are none, the shell's folders."""

    def words(self, incomplete: str) -> list[str]:
        from jumok.checkpoint.bundled import bundled_names

        typed, _, last = incomplete.rpartition("/")
        above = f"{typed}/" if "/" in incomplete else ""
        there = sorted(model_folders_under(Path(above or "."), last))
        return [*(f"{above}{path}" for path in there), *bundled_names()]

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return super().shell_complete(ctx, param, incomplete) or [CompletionItem(incomplete, type="dir")]


def model_folders_under(above: Path, begins: str) -> Iterator[str]:
    """Runs and model folders a few levels below a folder, as paths from there; the first name `begins` so."""
    waiting, seen = [(above, 0)], 0
    while waiting and seen < LOOKED_AT:
        folder, depth = waiting.pop(0)
        try:
            inside = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
        except OSError:
            continue
        seen += len(inside)
        for path in inside:
            if depth == 0 and not path.name.startswith(begins):
                continue
            if (path / "MANIFEST.json").is_file() or (path / "checkpoints").is_dir():
                yield path.relative_to(above).as_posix()
            elif depth + 1 < DEPTH:
                waiting.append((path, depth + 1))


FILES = (
    *("-i", "-o", "--source", "--target", "--valid-source", "--valid-target", "--test-source"),
    *(
        "--test-target",
        "--images",
        "--config",
        "--out",
        "--hypotheses",
        "--glossary",
        "--context",
        "source",
        "target",
    ),
)
WORDS: Mapping[str, Word] = {
    **dict.fromkeys(FILES, FileWord()),
    **dict.fromkeys(("-m", "models"), ModelWord()),
    "--arch": ArchWord(),
    "--preset": PresetWord(),
    "--data": DataWord(),
}
"""Options and arguments by name, and what is offered for them."""


def offer_words(params: list[click.Parameter]) -> None:
    """Let those of a command's parameters complete that are plain texts and have words."""
    for param in params:
        for name in param.opts:
            if name in WORDS and param.type is click.STRING:
                param.type = WORDS[name]
