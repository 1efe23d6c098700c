"""Our rules for the ends of sentences as a network, in the form that Argos Translate looks for in a package.

It reads `minisbd/*.onnx` (MiniSBD, which is Stanza's tokenizer): characters in, for each the scores of
three classes out, of which the last ends a sentence. Ours has no learned weights. A convolution finds
patterns: what an end looks like, abbreviations, words that begin sentences. An end counts unless an
abbreviation of its dot speaks against it that no such word outvotes. What needs more than a look at the
neighbours is left out: brackets.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumok.text.abbreviations import LAST, ORDINALS, maybe, never, starters
from jumok.text.sentences import CLOSERS, DATED, MARKS, NO_SPACES, OPENERS, WIDE, base

FOLDER = "minisbd"
BACK, AHEAD = 12, 12  # characters that a pattern sees
OPSET = 17
# Latin up to Extended-B, Greek, Cyrillic; and Arabic, which has no case but abbreviations.
BLOCKS = (range(0x41, 0x250), range(0x370, 0x530), range(0x620, 0x64B))
LETTERS = [chr(code) for block in BLOCKS for code in block if chr(code).isalpha()]
HIRAGANA = [chr(code) for code in range(0x3041, 0x3097)]
CLASSES = {
    "space": " ",
    "dot": ".",
    "mark": [mark for mark in MARKS if mark not in WIDE],
    "wide": WIDE,
    "bang": "!?",
    "close": [one for one in CLOSERS if one not in "“‘«‹"] + ["“"],
    "shut": [one for one in CLOSERS if one not in "“‘«‹"],
    "open": OPENERS,
    "lower": [one for one in LETTERS if one.islower()],
    "upper": [one for one in LETTERS if one.isupper()],
    "letter": LETTERS,
    "digit": "0123456789",
    "hiragana": HIRAGANA,
}
Condition = tuple[int, str]
"""A place, counted from the end, and a class or a letter in lower case."""


@dataclass(frozen=True)
class Pattern:
    """What must stand where, and what must not."""

    yes: tuple[Condition, ...]
    no: tuple[Condition, ...] = ()


def splitter_bytes(language: str) -> bytes:
    """The network for a language as an ONNX file."""
    code = base(language)
    units = ["<PAD>", "<UNK>", *sorted({one for some in CLASSES.values() for one in some})]
    groups = [list(some(code)) for some in (ends, against, doubts, beginnings)]
    conditions = {name for some in groups for one in some for _, name in (*one.yes, *one.no)}
    channels = [*CLASSES, *sorted(conditions - CLASSES.keys() - {"any"})]
    table = np.zeros((len(units), len(channels) + 1), np.float32)
    place = {name: n for n, name in enumerate(channels)}
    for n, unit in enumerate(units[2:], start=2):
        for name, some in CLASSES.items():
            table[n, place[name]] = unit in some
        if unit.lower() in place:
            table[n, place[unit.lower()]] = 1
    table[1:, -1] = 1  # there is a character at all
    place["any"] = len(channels)
    kernels = [kernel(patterns, place) for patterns in groups]
    config = {"skip_newline": False, "max_seqlen": 1000, "batch_size": 8, "feat_funcs": []}
    vocabulary = {"lang": "", "idx": 0, "cutoff": 0, "lower": False, "_id2unit": units}
    vocabulary["_unit2id"] = {unit: n for n, unit in enumerate(units)}
    metadata = {"lang_code": code or "en", "config": json.dumps(config), "vocab": json.dumps(vocabulary)}
    return build_graph(table, kernels, metadata)


def ends(language: str) -> Iterator[Pattern]:
    """What the last character of a sentence and its neighbours look like."""
    for closers in range(3):
        closed = tuple((-n, "close") for n in range(closers))
        mark = (-closers, "mark")
        next_word = ((2, "lower"), (2, "open"), (2, "space"), (2, "mark"))
        yield Pattern((mark, *closed, (1, "space"), (2, "any")), next_word)
        yield Pattern((mark, *closed, (1, "space"), (2, "open"), (3, "any")), ((3, "lower"),))
        shut = tuple((-n, "shut") for n in range(closers))
        more = ((1, "shut"), (1, "wide"), (1, "mark"), *(((1, "hiragana"),) if closers else ()))
        yield Pattern(((-closers, "wide"), *shut, (1, "any")), more)
    if language in NO_SPACES:
        no = ((1, "space"), (1, "letter"), (1, "digit"), (1, "close"), (1, "mark"), (1, "wide"))
        yield Pattern(((0, "bang"), (1, "any")), no)


def words(texts: Iterable[str]) -> Iterator[Pattern]:
    """Abbreviations that end with the dot here; `z.b` also as `z. B.`."""
    for text in sorted(texts):
        for form in dict.fromkeys((text, text.replace(".", ". "))):
            if len(form) < BACK:
                yes = [(n - len(form), condition_of(character)) for n, character in enumerate(form)]
                before = (-len(form) - 1, "letter"), (-len(form) - 1, "digit")
                yield Pattern(((0, "dot"), *yes), before)


def condition_of(character: str) -> str:
    return {".": "dot", " ": "space"}.get(character, character)


def against(language: str) -> Iterator[Pattern]:
    """Dots that never end a sentence."""
    own = never(language) - ({"no"} if language == "en" else set())
    yield from words(one for one in own if known(one))
    if language in DATED:
        yield Pattern(((0, "dot"), (-1, "digit"), (1, "space"), (2, "digit")))


def doubts(language: str) -> Iterator[Pattern]:
    """Dots that end a sentence if the word behind them begins one."""
    last = LAST if language != "de" else frozenset()
    yield from words(one for one in maybe(language) - last if known(one))
    no = ((-2, "letter"), (-2, "digit"))
    yield Pattern(((0, "dot"), (-1, "letter")), no if language != "en" else (*no, (-1, "i")))
    if language in ORDINALS:
        for count in (1, 2):
            digits = tuple((-n, "digit") for n in range(1, count + 1))
            before = tuple((-count - 1, name) for name in ("digit", "letter", "dot"))
            yield Pattern(((0, "dot"), *digits), before)


def beginnings(language: str) -> Iterator[Pattern]:
    """Words that begin sentences, with a capital letter, behind a space."""
    for word in sorted(starters(language)):
        word = word.rstrip("'")
        if known(word) and len(word) < AHEAD - 2:
            yes = [(2 + n, character) for n, character in enumerate(word)]
            yield Pattern(((1, "space"), (2, "upper"), *yes), ((2 + len(word), "letter"),))


def known(text: str) -> bool:
    return all(character in ". " or character in LETTERS for character in text)


def kernel(patterns: Sequence[Pattern], place: dict[str, int]) -> tuple[Any, Any]:
    """Weights and biases of a convolution that gives 1 for each pattern that is there, and 0 or less else."""
    weights = np.zeros((len(patterns), len(place), BACK + 1 + AHEAD), np.float32)
    for n, pattern in enumerate(patterns):
        for offset, name in pattern.yes:
            weights[n, place[name], BACK + offset] += 1
        for offset, name in pattern.no:
            weights[n, place[name], BACK + offset] -= len(pattern.yes)
    return weights, np.array([1 - len(pattern.yes) for pattern in patterns], np.float32)


def build_graph(table: Any, kernels: Sequence[tuple[Any, Any]], metadata: dict[str, str]) -> bytes:
    """Characters to classes, the four convolutions in between; `features` are asked for and not used."""
    from onnx import TensorProto, checker, helper, numpy_helper

    constants = {"table": table, "half": np.array([0.5], np.float32), "last": np.array([2], np.int64)}
    nodes = [
        helper.make_node("Gather", ["table", "units"], ["looked_up"]),
        helper.make_node("Transpose", ["looked_up"], ["channels"], perm=[0, 2, 1]),
    ]
    for n, (weights, bias) in enumerate(kernels):
        constants |= {f"weights{n}": weights, f"bias{n}": bias}
        nodes += [
            helper.make_node(
                "Conv", ["channels", f"weights{n}", f"bias{n}"], [f"sum{n}"], pads=[BACK, AHEAD]
            ),
            helper.make_node("ReduceMax", [f"sum{n}"], [f"most{n}"], axes=[1], keepdims=0),
            helper.make_node("Relu", [f"most{n}"], [f"found{n}"]),
        ]
    nodes += [
        helper.make_node("Sub", ["found2", "found3"], ["open_doubt"]),
        helper.make_node("Relu", ["open_doubt"], ["doubt"]),
        helper.make_node("Sub", ["found0", "found1"], ["certain"]),
        helper.make_node("Sub", ["certain", "doubt"], ["end"]),
        helper.make_node("Sub", ["end", "half"], ["score"]),
        helper.make_node("Sub", ["score", "score"], ["inside"]),
        helper.make_node("Sub", ["inside", "half"], ["word"]),
        *(
            helper.make_node("Unsqueeze", [name, "last"], [f"{name}s"])
            for name in ("inside", "word", "score")
        ),
        helper.make_node("Concat", ["insides", "words", "scores"], ["classes"], axis=2),
    ]
    graph = helper.make_graph(
        nodes,
        "sentences",
        [
            helper.make_tensor_value_info("units", TensorProto.INT64, ["batch", "length"]),
            helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", "length", "features"]),
        ],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["batch", "length", 3])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    helper.set_model_props(model, metadata)
    checker.check_model(model)
    return bytes(model.SerializeToString())
