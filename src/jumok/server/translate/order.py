"""What a request asks of one model, counted against the limits and ready to be decoded."""

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from jumok.config import DecodingConfig
from jumok.decoding.jobs import Job, Request, SourceText, cost, make_request
from jumok.decoding.parts import TextJobs
from jumok.decoding.results import Translation
from jumok.decoding.translator import Translator
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem

TextSide = Literal["source", "target"]


@dataclass(frozen=True)
class DecodingOrder:
    """Texts with their options, as jobs. `digest` names the texts: an answer must have the same."""

    texts: tuple[str, ...]
    translator: Translator
    """For the direction that is asked for."""
    request: Request
    parts: tuple[TextJobs, ...]
    """The jobs of each text: none for a blank one, one for each sentence of one that is split."""
    costs: Mapping[Job, int]
    """Beam-tokens of each different job."""
    digest: str

    @property
    def cost(self) -> int:
        return sum(self.costs.values())

    def check(self, answers: Sequence[Translation]) -> None:
        """Refuse answers that belong to other texts: nobody must ever see them."""
        if digest_of([answer.source for answer in answers]) != self.digest:
            raise Problem(500, "internal", "the answer belongs to another request")


def make_order(
    translator: Translator, texts: Sequence[str | SourceText], options: Mapping[str, Any], limits: Limits
) -> DecodingOrder:
    """An order within the limits; 422 beyond them. Encodes the texts, and makes the engine."""
    defaults, most = translator.config.decoding, min(limits.new_tokens, positions_of(translator))
    bounded = {**options, "max_len": min(options.get("max_len", defaults.max_len), most)}
    request = make_request(drawing_within(defaults, limits), bounded)
    translator = translator.directed(request)
    translator.check(request)
    translator.engine_of(request)  # not in the worker's thread, where all would wait while torch is loaded
    given = [text if isinstance(text, str) else text.given for text in texts]
    pictures = translator.tokenizers.pictures is not None  # they all have as many patches
    check_characters([] if pictures else given, limits, "source")
    sources = translator.read(texts)
    check_tokens([] if pictures else [source.ids for source in sources], limits, "source")
    parts = tuple(translator.jobs(sources, request))
    costs = {job: cost(job, request.decoding) for one in parts for job in one.jobs}
    order = DecodingOrder(tuple(given), translator, request, parts, costs, digest_of(given))
    mbr = request.decoding.mbr
    allowed = limits.work * max(1, mbr // limits.beam)
    if order.cost > allowed:
        raise Problem(
            422,
            "too_large",
            f"the request costs {order.cost:,} beam-tokens, and {allowed:,} are allowed: "
            f"send fewer texts at once, or lower {'mbr' if mbr else 'beam'} or max_len",
        )
    return order


def drawing_within(defaults: DecodingConfig, limits: Limits) -> DecodingConfig:
    """A model's own settings, with no more draws than the limit."""
    if defaults.mbr <= limits.mbr:
        return defaults
    return replace(defaults, mbr=limits.mbr, n_best=min(defaults.n_best, limits.mbr))


def check_lengths(translator: Translator, texts: Sequence[str], limits: Limits, side: TextSide) -> None:
    """Refuse a text with more characters or tokens than the limit."""
    tokenizers = translator.tokenizers
    if tokenizers.pictures and side == "source":
        return  # they all have as many patches
    tokenizer = tokenizers.text_source if side == "source" else tokenizers.target
    check_characters(texts, limits, side)
    check_tokens(tokenizer.encode_many([" ".join(text.split()) for text in texts]), limits, side)


def check_characters(texts: Sequence[str], limits: Limits, side: TextSide) -> None:
    for number, text in enumerate(texts, start=1):
        if len(text) > limits.characters:
            raise Problem(
                422, "too_long", f"{side} text {number} has more than {limits.characters:,} characters"
            )


def check_tokens(texts: Iterable[Sequence[object]], limits: Limits, side: TextSide) -> None:
    for number, ids in enumerate(texts, start=1):
        if len(ids) > limits.tokens:
            raise Problem(
                422,
                "too_long",
                f"{side} text {number} has {len(ids):,} tokens, and {limits.tokens:,} are allowed",
            )


def positions_of(translator: Translator) -> int:
    """How long an answer can be at all: a table of learned positions has an end."""
    return translator.config.model.table_rows or sys.maxsize


def digest_of(texts: Sequence[str]) -> str:
    """A name for these texts in this order."""
    return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
