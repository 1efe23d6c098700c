"""Two or three models side by side on one text, and on its beginnings, to see where each gives up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumok.decoding.results import Translation, shorten
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, LimitError
from jumok.explain.edits import taken
from jumok.explain.html import HEIGHT, Display, shorter, trace_html
from jumok.explain.influence import Influence, leave_out
from jumok.explain.ops import bad_parameter
from jumok.explain.tokens import Unit, agreed_units, source_side
from jumok.explain.trace import Trace, make_trace, write_whole
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy
from jumok.text.word_groups import text_of, word_groups

ARCHITECTURES = ("rnn", "luong", "transformer")  # the order of columns, weakest first
MOST_CUTS = 32


@dataclass(frozen=True)
class Column:
    """What one model makes of the text."""

    name: str
    arch: str
    translation: Translation
    trace: Trace
    chrf: float | None
    """Against the reference, 0 to 100; None without one."""
    influence: Influence

    def to_dict(self) -> dict[str, Any]:
        answer = self.translation
        return {
            "model": self.name,
            "arch": self.arch,
            "id": self.trace.id,
            "text": answer.text,
            "score": answer.score,
            "score_per_token": answer.score_per_token,
            "chrf": self.chrf,
            "tokens": [{"text": one.text, "id": one.id, "logprob": one.logprob} for one in answer.tokens],
            "influence": self.influence.to_dict(),
        }


@dataclass(frozen=True)
class Cut:
    """What each model makes of the first words of the text."""

    words: int
    source: str
    reference: str
    """What the answers are compared with."""
    scores: Mapping[str, tuple[float, str]]
    """chrF and answer by model."""

    def to_dict(self) -> dict[str, Any]:
        scores = {name: {"chrf": chrf, "text": text} for name, (chrf, text) in self.scores.items()}
        return {"words": self.words, "source": self.source, "reference": self.reference, "scores": scores}


@dataclass(frozen=True, repr=False)
class SideBySide:
    """Columns by architecture, then by name. Unit j of every influence is the same word of the source."""

    source: str
    words: tuple[str, ...]
    columns: tuple[Column, ...]
    grow: tuple[Cut, ...]
    pseudo_reference: str | None
    """The model whose own answers stand in for a reference in `grow`; None where a reference was given."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "source": {"text": self.source, "words": list(self.words)},
            "pseudo_reference": self.pseudo_reference,
            "results": [column.to_dict() for column in self.columns],
            "grow": [cut.to_dict() for cut in self.grow],
        }

    def __repr__(self) -> str:
        answers = ", ".join(f"{one.name}: {shorten(one.translation.text)}" for one in self.columns)
        return f"SideBySide({shorten(self.source)} -> {answers})"

    def to_html(self) -> str:
        """One HTML file with the Compare screen and the trace of every model."""
        traces = [column.trace for column in self.columns]
        answers = {"/v1/compare": shorter(self.to_dict())}
        return trace_html(traces, screen="compare", answers=answers)

    def save_html(self, path: str | Path) -> Path:
        """Write the comparison to one HTML file that opens in any browser."""
        return write_whole(path, self.to_html().encode())

    def show(self, height: int = HEIGHT) -> Display:
        """The comparison to look at: in a notebook as a frame, in a terminal as text."""
        return Display(self.to_html, self.__repr__, height)


def side_by_side(
    translators: Sequence[Translator] | Mapping[str, Translator],
    text: str,
    *,
    reference: str | None = None,
    cuts: Sequence[int] = (),
    progress: Progress = silent,
    **options: Any,
) -> SideBySide:
    """What two or three models make of one text; options are those of `translate`, the same for all.

    Words are those that all tokenizers agree on, so influences have the same columns.

    `cuts` are numbers of words: the text is translated again cut after so many (all of them, where it has no
    more), and each answer gets its chrF. With a reference, it is compared with the same share of the
    reference's words, rounded, at least one: an estimate, since languages differ in order. Without one, it is
    compared with what the last model, the strongest by architecture, makes of the same cut: that model then
    has 100, and `pseudo_reference` names it.
    """
    models = {name: one.asked_in(options) for name, one in in_order(translators).items()}
    line, best = source_line(list(models.values()), text), tidy(reference or "")
    long = "error" if options.get("long") == "error" else "cut"
    settings = {**options, "long": long, "sentences": "as-is"}
    found = [cut_tokens(one, line) for one in models.values()]
    units = agreed_units([side for _, side in found])
    columns = []
    for n, (name, translator) in enumerate(models.items()):
        progress("comparing", n, len(models))
        answer = translator.translate(line, **settings)
        target = [token.id for token in answer.tokens]
        values = leave_out(translator, found[n][0], target, units[n], progress=progress)
        columns.append(
            Column(
                name,
                translator.config.model.arch,
                answer,
                make_trace(translator, line, options=settings, translation=answer, name=name),
                chrf(answer.text, best) if best else None,
                Influence("words", "unk", units[n], values),
            )
        )
    cut_after = check_cuts(cuts)
    if "image" in found[0][1]:  # a picture has no beginning
        line, cut_after = found[0][1]["text"], []
    grown = grow(models, line, units[0], best, cut_after, settings)
    pseudo = None if best or not grown else columns[-1].name
    return SideBySide(line, tuple(unit.text for unit in units[0]), tuple(columns), grown, pseudo)


def in_order(translators: Sequence[Translator] | Mapping[str, Translator]) -> dict[str, Translator]:
    """Models by name in the order of their columns; equal names get a number."""
    if isinstance(translators, Mapping):
        named = list(translators.items())
    else:
        named = [(str(one.info["name"]), one) for one in translators]
    if not 2 <= len(named) <= 3:
        raise ConfigError(f"{len(named)} models were given to compare", hint="compare two or three")
    found: dict[str, Translator] = {}
    for name, one in sorted(
        named, key=lambda pair: (ARCHITECTURES.index(pair[1].config.model.arch), pair[0])
    ):
        number = sum(1 for other in found if other.split(" (")[0] == name)
        found[f"{name} ({number + 1})" if name in found else name] = one
    return found


def source_line(models: Sequence[Translator], text: str) -> str:
    """The text as all models read it; a picture is cut into patches in one way."""
    readers = {one.tokenizers.source.fingerprint if one.tokenizers.pictures else "" for one in models}
    if len(readers) > 1:
        raise ConfigError(
            "these models do not all read text, or pictures of one size",
            hint="compare models of a kind",
        )
    return models[0].tokenizers.tidy_source(text)


def cut_tokens(translator: Translator, line: str) -> tuple[list[Any], dict[str, Any]]:
    """The source ids that a model takes of a line, and their side."""
    ids = taken(translator, *translator.read([line]))
    language = translator.config.data.source_language
    return ids, source_side(translator.tokenizers, ids, line, language, end=False)


def check_cuts(cuts: Sequence[int]) -> list[int]:
    """Numbers of words, each once, in order."""
    if len(cuts) > MOST_CUTS:
        raise LimitError(
            f"{len(cuts)} cuts were asked for, and {MOST_CUTS} is the most",
            hint="name fewer numbers of words",
        )
    for cut in cuts:
        if type(cut) is not int or cut < 1:
            raise bad_parameter(f"cuts: {cut!r} is no number of words", hint="give whole numbers from 1 up")
    return sorted(set(cuts))


def grow(
    models: Mapping[str, Translator],
    line: str,
    words: Sequence[Unit],
    reference: str,
    cuts: Sequence[int],
    settings: Mapping[str, Any],
) -> tuple[Cut, ...]:
    """The answers of all models to each beginning of the line."""
    sizes = sorted({min(cut, len(words)) for cut in cuts}) if words else []
    if not sizes:
        return ()
    sources = [line[: words[size - 1].span[1]] for size in sizes]
    answers = {
        name: [answer.text for answer in one.translate(sources, **settings)] for name, one in models.items()
    }
    last = list(models)[-1]
    found = []
    for n, size in enumerate(sizes):
        best = begin_of(reference, size / len(words)) if reference else answers[last][n]
        scores = {name: (chrf(texts[n], best), texts[n]) for name, texts in answers.items()}
        found.append(Cut(size, sources[n], best, scores))
    return tuple(found)


def begin_of(text: str, share: float) -> str:
    """The first words of a text: this share of them, rounded, at least one."""
    groups = word_groups(text)
    count = max(1, round(share * len(groups)))
    return text_of(text[: groups[count - 1][-1] + 1]) if groups else ""


def chrf(hypothesis: str, reference: str) -> float:
    """chrF of one sentence (Popović 2015), 0 to 100. Two blank texts are equal."""
    if not hypothesis and not reference:
        return 100.0
    from sacrebleu.metrics.chrf import CHRF  # it takes long, and few compare

    return float(CHRF(word_order=0, eps_smoothing=False).sentence_score(hypothesis, [reference]).score)
