"""Every limit of the server, with the answer that goes beyond it gets."""

from dataclasses import asdict, dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request and all of them together may ask for. The defaults are the product's.

    One product bounds the work: decoder state costs about 8 x layers x width bytes per beam-token in float32,
    so that 16,384 of them stay near 400 MB, where 64 texts x 16 beams x 512 tokens would need 13 GB.
    """

    header_bytes: int = 64 * 1024
    """Beyond it 431."""
    receive_s: float = 10.0
    """A request that has not arrived by then, or an answer that nobody takes, is closed."""
    keep_alive_s: int = 5
    """A connection without a request is closed after this."""
    body_bytes: int = MIB
    """Beyond it 413."""
    depth: int = 32
    """Lists and objects inside each other in a JSON body; beyond it 400."""
    texts: int = 64
    """Texts of one request; beyond it 422."""
    characters: int = 5_000
    """Characters of one text; beyond it 422."""
    picture: int = 700_000
    """Characters of one picture as a data URL; beyond it 422."""
    tokens: int = 512
    """Tokens of one text; beyond it 422."""
    beam: int = 16
    """Hypotheses of one text; beyond it 422."""
    terms: int = 500
    """Terms of the glossary of one request; beyond it 422."""
    n_best: int = 16
    """Answers of one text; beyond it 422."""
    mbr: int = 64
    """Draws for one text; beyond it 422, and a model that has more of its own draws so many."""
    new_tokens: int = 512
    """Tokens of one answer; beyond it 422."""
    work: int = 16_384
    """Beam-tokens: the sum of beam or mbr x (source + new tokens). Beyond it 422, of draws as many
    times later as there are more of them than hypotheses may be; all together, they wait."""
    trace_tokens: int = 128
    """Tokens of either side of a trace; beyond it 422."""
    trace_bytes: int = 4 * MIB
    """Tensors of one answer; beyond it 422."""
    step_parameters: int = 16 * MIB
    """Parameters of a model that takes a training step, each with six copies; beyond it 422."""
    traces: int = 64
    """Traces that are kept; the oldest goes."""
    traces_bytes: int = 256 * MIB
    """All kept traces together; the oldest goes."""
    document_bytes: int = 32 * MIB
    """One document; beyond it 413, before it is read."""
    documents: int = 32
    """Documents that are kept; the oldest that is done goes. If none is done, 429."""
    documents_bytes: int = 512 * MIB
    """All kept documents together, on disk; the same."""
    document_s: float = 3600.0
    """Seconds after its last use that a document is kept; it is translated first, however long that takes."""
    upload_s: float = 600.0
    """A document that has not arrived by then is closed."""
    corrections: int = 60
    """Corrections of one client in a minute; beyond it 429 with Retry-After."""
    streams: int = 16
    """Open event streams; beyond it 429."""
    heartbeat_s: float = 15.0
    """Seconds between the comments that keep a silent stream open."""
    queue: int = 256
    """Requests that wait for one model; beyond it 429 with Retry-After."""
    connections: int = 512
    """Open connections; beyond it 503."""
    deadline_s: float = 30.0
    """Seconds from receipt to answer; beyond it 504, and the work is cancelled."""
    drain_s: float = 20.0
    """Seconds that running requests have left after SIGTERM."""

    def for_clients(self) -> dict[str, int | float]:
        """The ones that a client can keep to, by name: they are in each model's card."""
        hidden = {"header_bytes", "receive_s", "keep_alive_s", "heartbeat_s", "connections", "drain_s"}
        return {name: value for name, value in asdict(self).items() if name not in hidden}


DEFAULTS = Limits()
