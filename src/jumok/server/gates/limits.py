"""Every limit of the server, with the answer that goes beyond it gets, and how another value is set."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from jumok.errors import ConfigError, nearest

MIB = 1 << 20
UNITS = {"": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
VARIABLE = "JUMOK_LIMIT_"
MOST_SECONDS, MOST = 1_000_000, 1 << 53
DOCUMENTS = 8  # of the largest size that find room


def limit(default: Any, about: str) -> Any:
    """A field with what is said about it."""
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request and all of them together may ask for. The defaults are the product's.

    One product bounds the work: decoder state costs about 8 x layers x width bytes per beam-token in float32,
    so that 16,384 of them stay near 400 MB, where 64 texts x 16 beams x 512 tokens would need 13 GB.
    """

    header_bytes: int = limit(64 * 1024, "Headers of a request; beyond it 431.")
    receive_s: float = limit(
        10.0, "Seconds until a request has arrived, or its answer is taken; then closed."
    )
    keep_alive_s: int = limit(5, "Seconds of a connection without a request; then closed.")
    body_bytes: int = limit(MIB, "Body of a request; beyond it 413.")
    depth: int = limit(32, "Lists and objects inside each other in a JSON body; beyond it 400.")
    texts: int = limit(64, "Texts of one request; beyond it 422.")
    lines: int = limit(1_000, "Lines whose mistakes are told apart; beyond it 422.")
    characters: int = limit(5_000, "Characters of one text; beyond it 422.")
    picture: int = limit(700_000, "Characters of one picture as a data URL; beyond it 422.")
    tokens: int = limit(512, "Tokens of one text; beyond it 422.")
    beam: int = limit(16, "Hypotheses of one text; beyond it 422.")
    terms: int = limit(500, "Terms of the glossary of one request; beyond it 422.")
    n_best: int = limit(16, "Answers of one text; beyond it 422.")
    mbr: int = limit(64, "Draws for one text; beyond it 422. A model with more of its own draws so many.")
    new_tokens: int = limit(512, "Tokens of one answer; beyond it 422.")
    # Of draws as many times more as there are more of them than hypotheses may be.
    work: int = limit(16_384, "Beam-tokens: beam or mbr x (source + new tokens); beyond it 422, or a wait.")
    trace_tokens: int = limit(128, "Tokens of either side of a trace; beyond it 422.")
    trace_bytes: int = limit(4 * MIB, "Tensors of one answer; beyond it 422.")
    # Each has six copies in a step.
    step_parameters: int = limit(16 * MIB, "Parameters of a model that takes a training step; beyond it 422.")
    traces: int = limit(64, "Traces that are kept; the oldest goes.")
    traces_bytes: int = limit(256 * MIB, "All kept traces together; the oldest goes.")
    document_bytes: int = limit(32 * MIB, "One document; beyond it 413, before it is read.")
    documents: int = limit(32, "Documents that are kept; the oldest that is done goes, else 429.")
    documents_bytes: int = limit(512 * MIB, "All kept documents together, on disk; the same.")
    document_s: float = limit(3600.0, "Seconds that a translated document is kept after its last use.")
    upload_s: float = limit(600.0, "Seconds until a document has arrived; then closed.")
    training_bytes: int = limit(4 * MIB, "Pairs to train a model on; beyond it 413.")
    training_s: float = limit(3600.0, "Seconds that a model is trained from the page; beyond it 422.")
    trained_models: int = limit(8, "Models trained from the page that are served; the oldest goes.")
    corrections: int = limit(60, "Corrections of one client in a minute; beyond it 429.")
    streams: int = limit(16, "Open event streams; beyond it 429.")
    heartbeat_s: float = limit(15.0, "Seconds between the comments that keep a silent stream open.")
    queue: int = limit(256, "Requests that wait for one model; beyond it 429.")
    queue_s: float = limit(
        0.5, "Seconds that one may have waited for room in a model's batch; beyond it 429 for who comes."
    )
    connections: int = limit(512, "Open connections; beyond it 503.")
    deadline_s: float = limit(
        30.0, "Seconds from receipt to answer; beyond it 504, and the work is cancelled."
    )
    drain_s: float = limit(20.0, "Seconds that running requests have left after SIGTERM.")

    def for_clients(self) -> dict[str, int | float]:
        """The ones that a client can keep to, by name: they are in each model's card."""
        hidden = {"header_bytes", "receive_s", "keep_alive_s", "heartbeat_s", "connections", "drain_s"}
        return {name: value for name, value in asdict(self).items() if name not in hidden}


DEFAULTS = Limits()


def read_limits(words: Sequence[str], environment: Mapping[str, str]) -> Limits:
    """The limits with what `--limit NAME=VALUE` says, or else a variable such as JUMOK_LIMIT_QUEUE."""
    given: dict[str, int | float] = {}
    for variable, text in environment.items():
        if variable.startswith(VARIABLE):
            name = variable.removeprefix(VARIABLE).lower()
            given[name] = read_limit(name, text, f"{variable}={text}")
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(f"--limit takes NAME=VALUE, not {word!r}", hint="for example --limit queue=64")
        given[name] = read_limit(name, text, f"--limit {word}")
    if "document_bytes" in given:  # a few of that size find room on disk
        room = max(DEFAULTS.documents_bytes, DOCUMENTS * int(given["document_bytes"]))
        given.setdefault("documents_bytes", room)
    return Limits(**given)  # type: ignore[arg-type]  # each is a number of its own kind


def read_limit(name: str, text: str, said: str) -> int | float:
    """The value of one limit; `said` is how it was given."""
    names = [one.name for one in fields(Limits)]
    if name not in names:
        advice = nearest(name, names, "jumok serve --limits lists them")
        raise ConfigError(f"{said}: there is no limit {name!r}", hint=advice)
    if isinstance(getattr(DEFAULTS, name), float):
        try:
            seconds = float(text)
        except ValueError:
            seconds = math.nan
        if not 0 < seconds <= MOST_SECONDS:  # nor is what is no number
            hint = f"write seconds, above 0 and up to {MOST_SECONDS:,}, such as 2.5"
            raise ConfigError(f"{said}: {text!r} is not a number of seconds", hint=hint)
        return seconds
    found = re.fullmatch(r"([0-9]{1,16})(KiB|MiB|GiB|)", text)
    unit = "" if found is None else found[2]
    number = 0 if found is None else int(found[1]) * UNITS[unit]
    if not 1 <= number <= MOST or (unit and not name.endswith("bytes")):
        sizes = "; of bytes also 64KiB, 32MiB, 1GiB" if name.endswith("bytes") else ""
        raise ConfigError(
            f"{said}: {text!r} is not a whole number from 1 up", hint=f"write digits, such as 64{sizes}"
        )
    return number
