"""What if? One translation beside the same with interventions: text, score, and where they part.

    what_if(model, "나는 어제 영화를 봤다.", [mask_head("cross", 2, 1), ban("movie")])

The interventions themselves are in `ops.py`, what they do to a model in `edits.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import fsum
from os.path import commonprefix
from typing import Any, Literal

from jumok.decoding.results import Translation
from jumok.decoding.translator import Translator
from jumok.explain.edits import compile_ops, taken
from jumok.explain.forced import log_probs
from jumok.explain.ops import Op, ops_to_json
from jumok.explain.trace import Trace, make_trace


@dataclass(frozen=True)
class Change:
    """A run of tokens that both answers have, or that only one has, or that differ. Ranges are half open."""

    op: Literal["equal", "replace", "delete", "insert"]
    a: tuple[int, int]
    """The tokens of the baseline."""
    b: tuple[int, int]
    """The tokens of the edited answer."""

    def to_dict(self) -> dict[str, Any]:
        return {"op": self.op, "a": list(self.a), "b": list(self.b)}


@dataclass(frozen=True)
class WhatIf:
    """The answer to a what-if. Token ranges count the ends of the sentences, too."""

    baseline: Translation
    edited: Translation
    baseline_trace: Trace
    edited_trace: Trace
    diff: tuple[Change, ...]
    first_divergence: int | None
    """The first token that differs; None if the answers are the same."""
    baseline_logprob_under_edit: float
    """How probable the edited model finds the answer of the model as it is."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "baseline": side(self.baseline, self.baseline_trace),
            "edited": side(self.edited, self.edited_trace),
            "diff": [change.to_dict() for change in self.diff],
            "first_divergence": self.first_divergence,
            "baseline_logprob_under_edit": self.baseline_logprob_under_edit,
        }

    def __repr__(self) -> str:
        return f"WhatIf({self.baseline.text!r} -> {self.edited.text!r})"


def what_if(translator: Translator, text: str, ops: Sequence[Op], **options: Any) -> WhatIf:
    """The translation of a text as it is and with interventions, both with the same options.

    A text that is too long for the model is cut in both.
    """
    # Both sides on one engine: no rounding between them.
    translator = translator.seeing("what_if").asked_in(options)
    asked = compile_ops((), translator, text, options)
    compiled = compile_ops(ops, translator, asked.source, options)
    changed = translator.edited(compiled.edits, ops_to_json(ops))
    [baseline] = translator.translate_read([asked.source], **asked.options)
    [edited] = changed.translate_read([compiled.source], **compiled.options)
    target = [token.id for token in baseline.tokens]
    source = taken(translator, compiled.source)
    written = [token.id for token in edited.tokens]
    return WhatIf(
        baseline,
        edited,
        make_trace(translator, asked.source, options=asked.options, translation=baseline),
        make_trace(changed, compiled.source, options=compiled.options, translation=edited),
        changes(target, written),
        None if target == written else shared(target, written),
        fsum(log_probs(changed, [source], target)[0].tolist()),
    )


def changes(a: Sequence[int], b: Sequence[int]) -> tuple[Change, ...]:
    """How the token ids `b` come from `a`: runs in order that cover both, what both begin with first."""
    n = shared(a, b)
    begin = (Change("equal", (0, n), (0, n)),) if n else ()
    steps = SequenceMatcher(None, a[n:], b[n:], autojunk=False).get_opcodes()
    return begin + tuple(Change(op, (n + a0, n + a1), (n + b0, n + b1)) for op, a0, a1, b0, b1 in steps)


def shared(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens both begin with."""
    return len(commonprefix([list(a), list(b)]))


def side(answer: Translation, trace: Trace) -> dict[str, Any]:
    return {
        "id": trace.id,
        "text": answer.text,
        "score": answer.score,
        "tokens": [{"text": token.text, "id": token.id, "logprob": token.logprob} for token in answer.tokens],
    }
