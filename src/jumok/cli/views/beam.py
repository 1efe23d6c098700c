"""The tree of a search as text: the answer as a trunk, and beside each of its tokens what was not chosen."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jumok.cli.views.view import View, coloured, terminal_width
from jumok.errors import ConfigError
from jumok.explain.heatmap import cells, ltr, pad, shorten
from jumok.explain.tokens import label
from jumok.explain.trace import Trace

TEXT = 24  # cells of a hypothesis
LEGEND = (
    "● the answer   ○ kept for a while   ✕ rejected at once   ␣ a word begins\n"
    "numbers: log-probability of the token, and of the hypothesis so far"
)

Node = Mapping[str, Any]


class Tree:
    """The nodes of a tree, and the ways on from each."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.children: dict[int | None, list[Node]] = defaultdict(list)
        self.last: dict[int, Node] = {}
        """By node, the latest below it that was kept; of equally late ones the best."""
        for node in nodes:
            self.children[node["parent"]].append(node)
        for node in reversed(nodes):  # a parent comes before its children
            below = [self.last[one["n"]] for one in self.children[node["n"]] if one["state"] != "pruned"]
            self.last[node["n"]] = max(below, key=lambda one: (one["t"], one["norm"]), default=node)
        self.nodes = nodes

    def longest(self, node: Node) -> list[Node]:
        """The nodes from this one to the latest that was kept below it."""
        way = [self.last[node["n"]]]
        while way[-1]["n"] != node["n"]:
            way.append(self.nodes[way[-1]["parent"]])
        return way[::-1]


def beam_view(trace: Trace, style: str = "auto") -> View:
    """Every step of the search that wrote the answer."""
    found = trace.beam()
    manifest = trace.manifest
    source, target = manifest["source"]["text"], manifest["target"]["text"]
    if found is None:
        drawn = manifest["decode"]["method"] == "sample"
        raise ConfigError(
            f"there is no tree: the target was {'drawn at random' if drawn else 'given, not searched for'}",
            hint="add --beam N to search for it" if drawn else "leave out --target",
        )
    nodes = found["nodes"]
    last = nodes[found["chosen"][-1]]
    states = Counter(node["state"] for node in nodes)
    title = (
        f"beam {found['beam']} · length penalty {found['length_penalty']:g} · {last['t'] + 1} steps · "
        f"{len(nodes) - 1} hypotheses: {states['pruned']} rejected at once"
    )
    lines = trunk(Tree(nodes), [nodes[n] for n in found["chosen"][1:]], colour=coloured(style))
    line = f"{target}\t{last['score']:z.4f}"
    names = ("n", "parent", "t", "text", "logprob", "score", "norm", "state", "rank", "beam")
    rows = [list(names), *([node[name] for name in names] for node in nodes)]
    text = "\n".join((target, "", title, "", *lines, "", LEGEND))
    return View({"source": source, "target": target, "beam": found}, text, line, rows)


def trunk(tree: Tree, chosen: Sequence[Node], *, colour: bool) -> Iterator[str]:
    """A line for each token of the answer, and under it the hypotheses that parted from it there."""
    for node in chosen:
        number = f"{node['t'] + 1:>4}  "
        yield number + bold(f"● {hypothesis([node])}  {scores([node])}", colour=colour)
        others = [one for one in tree.children[node["parent"]] if one["n"] != node["n"]]
        for one in others:
            if one["state"] != "pruned":
                way = tree.longest(one)
                yield " " * 6 + f"○ {hypothesis(way)}  {scores(way)}  {fate(way[-1])}"
        if gone := [one for one in others if one["state"] == "pruned"]:
            yield " " * 6 + dim(f"✕ {rejected(gone, terminal_width() - 8)}", colour=colour)


def hypothesis(way: Sequence[Node]) -> str:
    return pad(shorten(" ".join(map(shown, way)), TEXT), TEXT)


def shown(node: Node) -> str:
    """A token; one that begins a word has a mark in front, since the same without it is another."""
    piece = node["text"]
    return ("␣" if piece[:1].isspace() and piece.strip() else "") + label(piece)


def scores(way: Sequence[Node]) -> str:
    """The first token's log-probability, and the whole hypothesis's at its end."""
    return f"{way[0]['logprob']:>z8.3f} {way[-1]['score']:>z8.3f}"


def fate(last: Node) -> str:
    return f"ended at {last['t'] + 1}" if last["state"] == "finished" else f"kept until {last['t'] + 1}"


def rejected(gone: Sequence[Node], room: int) -> str:
    """Tokens with their log-probabilities, as many as fit on the line."""
    text = ""
    for node in gone:
        word = f"{ltr(shown(node))} {node['logprob']:z.2f}"
        if text and cells(text) + 3 + cells(word) > room:
            return f"{text} …"
        text = f"{text} · {word}" if text else word
    return text


def bold(text: str, *, colour: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if colour else text


def dim(text: str, *, colour: bool) -> str:
    return f"\x1b[2m{text}\x1b[0m" if colour else text
