"""A what-if in words: both answers, where they part, and what the edited model thinks of the first."""

from collections.abc import Iterable, Sequence
from typing import Any

from jumok.cli.views.view import View, columns
from jumok.decoding.results import Token
from jumok.explain.tokens import BYTE_OF, label
from jumok.explain.what_if import WhatIf
from jumok.text.tokenizer import EOS


def with_change(view: View, change: WhatIf, words: Sequence[str], *, colour: bool) -> View:
    """A view of the edited trace, with the what-if in front of it."""
    plain: dict[str, Any] = {
        "what_if": {**change.to_dict(), "interventions": change.edited_trace.manifest["interventions"]},
        **view.plain,
    }
    text = f"{change_text(change, words, colour=colour)}\n\n{view.text}"
    return View(plain, text, change.edited.text, view.table)


def change_text(change: WhatIf, words: Sequence[str], *, colour: bool) -> str:
    before, after = change.baseline, change.edited
    answers = columns(
        [
            ("as it is", before.text, f"log p {before.score:z.4f}", ""),
            ("edited", after.text, f"log p {after.score:z.4f}", f"({after.score - before.score:+z.4f})"),
        ]
    )
    under = change.baseline_logprob_under_edit
    return "\n".join(
        (
            *(f"{'what if' if n == 0 else '':<10}{one}" for n, one in enumerate(words)),
            answers,
            f"diff      {diff(change, colour=colour)}",
            f"parts     {parts(change)}",
            f"          the edited model gives the answer as it is log p {under:z.4f}",
        )
    )


def parts(change: WhatIf) -> str:
    """The first token that differs, counted from 1."""
    at = change.first_divergence
    if at is None:
        return "nowhere: the answers are the same"
    old, new = (named(answer.tokens, at) for answer in (change.baseline, change.edited))
    return f"at token {at + 1}: {old} became {new}"


def named(tokens: Sequence[Token], at: int) -> str:
    return repr(label(tokens[at].text)) if at < len(tokens) else "nothing"


def diff(change: WhatIf, *, colour: bool) -> str:
    """Both answers in one line: [-what went-] and {+what came+}, or red and green."""
    out = []
    for one in change.diff:
        went = spelt(change.baseline.tokens[slice(*one.a)])
        came = spelt(change.edited.tokens[slice(*one.b)])
        if one.op == "equal":
            out.append(went)
        elif colour:
            out.append(f"\x1b[9;31m{went}\x1b[0m" * bool(went) + f"\x1b[32m{came}\x1b[0m" * bool(came))
        else:
            out.append(f"[-{went}-]" * bool(went) + f"{{+{came}+}}" * bool(came))
    return "".join(out).strip()


def spelt(tokens: Iterable[Token]) -> str:
    """The text of tokens, the end left out; bytes become the characters they spell."""
    pieces = [token.text for token in tokens if token.id != EOS]
    data = b"".join(bytes([BYTE_OF[one]]) if one in BYTE_OF else one.encode() for one in pieces)
    return data.decode(errors="replace")
