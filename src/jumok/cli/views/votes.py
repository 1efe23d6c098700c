"""Who wanted what, in the terminal: a line for each token that an ensemble wrote."""

from jumok.cli.views.view import View, columns
from jumok.explain.tokens import label
from jumok.explain.votes import Votes, VoteStep
from jumok.model import load


def votes_view(model: str, text: str, target: str | None = None) -> View:
    """The votes for the ensemble's own answer, or for a target."""
    found = load(model).votes(text, target)
    names = [member.name for member in found.members]
    rows = [["token", "together", *names, "other wishes"]]
    for step in found.steps:
        rows.append([label(step.text), share(step.p), *map(share, step.members), wishes(step, names)])
    head = f"{found.source} → {found.target}"
    counts = "  ".join(f"{one.name} {one.agrees} of {len(found.steps)}" for one in found.members)
    told = f"{head}\n\n{columns(rows, range(1, len(names) + 2))}\n\nits favourite was written: {counts}"
    table: list[list[object]] = [["step", "token", "id", "member", "probability"]]
    for n, step in enumerate(found.steps):
        for one in step.candidates:
            pairs = zip(["together", *names], [one.p, *one.members], strict=True)
            table += [[n, one.text, one.id, who, p] for who, p in pairs]
    return View(found.to_dict(), told, counts_line(found), table)


def counts_line(found: Votes) -> str:
    """The answer, and how often each member would have written its tokens."""
    shares = (f"{one.name} {one.agrees}/{len(found.steps)}" for one in found.members)
    return "\t".join([found.target, *shares])


def wishes(step: VoteStep, names: list[str]) -> str:
    """What members would have written instead, with how sure they were."""
    texts = {one.id: one for one in step.candidates}
    return "  ".join(
        f"{name}: {label(texts[id].text)} {share(texts[id].members[n])}"
        for n, (name, id) in enumerate(zip(names, step.favourites, strict=True))
        if id != step.id
    )


def share(p: float) -> str:
    return f"{100 * p:.1f} %"
