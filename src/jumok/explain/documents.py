"""The documents of a trace as types: `trace/1`, everything but its tensors, `beam/1`, the search, and
`forward/1`, every tensor from the ids to the loss.

JSON Schema, the OpenAPI document and the page's TypeScript are made from these classes. They describe plain
values: a manifest stays a dict. Readers ignore keys they do not know. A number that is not finite is null,
and a sibling key with `_nonfinite` after its name says nan, inf or -inf.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from jumok.config import Arch, Utility
from jumok.edits import Kind
from jumok.explain.capture import Stage
from jumok.explain.head_profile import Label
from jumok.explain.ops import Op
from jumok.explain.tokens import TokenType
from jumok.models.tensor_rows import How

Count = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(ge=1)]
Number = float | None
PositionKind = Literal["sinusoidal", "learned", "rotary", "relative", "none"]
ScoreKind = Literal["scaled_dot", "dot", "general", "concat"]


def sometimes(description: str = "", **bounds: Any) -> Any:
    """A key that is left out where it has nothing to say."""
    return Field(
        default=None,
        description=description or None,
        json_schema_extra=lambda schema: schema.pop("default", None),
        **bounds,
    )


class DocumentPart(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True, use_attribute_docstrings=True)


class KindSize(DocumentPart):
    """The sizes of one kind of attention."""

    layers: Size
    heads: Size
    d_head: Size


class LayerCounts(DocumentPart):
    encoder: Size
    decoder: Size


class ImageSize(DocumentPart):
    size: Size
    """Pixels of the square that a picture becomes, a side."""
    patch: Size
    """Pixels of a patch, a side."""


class TraceModel(DocumentPart):
    name: str
    """What links call the model."""
    arch: Arch
    fingerprint: str
    """SHA-256 of the model; equal for equal weights and settings."""
    src_lang: str
    tgt_lang: str
    dtype: str
    device: str
    d_model: Size
    max_length: Size
    """Most source tokens that the model takes."""
    positions: PositionKind | None
    score: ScoreKind | None
    layers: LayerCounts
    kinds: dict[Kind, KindSize]
    """The kinds of attention that the model has."""
    source: Literal["text", "image"] = sometimes("What the model reads.")
    image: ImageSize | None = sometimes("Of a model that reads pictures.")


class TraceToken(DocumentPart):
    i: Count
    id: Count
    """Of a patch, its place: its content is in the picture."""
    text: str
    """What to show; never blank. Of a patch, its row and column, from 1: "2,3"."""
    piece: str
    """What the tokenizer stores: a word's leading space is part of it."""
    type: TokenType
    span: tuple[Count, Count] | None
    """Half-open range of code points in the side's text; null for special tokens and patches. The bytes of
    one character share its range."""
    word: Count
    """Index into the side's words."""
    byte: int = sometimes("The value of a byte token.", ge=0, le=255)
    group: int = sometimes("The same for all bytes of one character, whose text they show.", ge=0)


class TraceWord(DocumentPart):
    i: Count
    text: str
    tokens: Annotated[list[Count], Field(min_length=1)]
    """Indices of its tokens, in order."""
    type: Literal["special"] = sometimes("Only there for a special token, which is a word of its own.")


class TracePicture(DocumentPart):
    """A picture as the model sees it, in patches by rows from the top left."""

    url: Annotated[str, Field(pattern="^data:image/png;base64,")]
    """The picture as a PNG in a data URL."""
    rows: Size
    columns: Size


class TraceNovelty(DocumentPart):
    """How much of a source was new to the model: pairs of tokens side by side."""

    pairs: Count
    unseen: Count
    """Pairs that never stood together in training."""
    strange: bool
    """They are more than in 99 of 100 validation sentences: hardly a text of the kind that was learned."""


class TraceSide(DocumentPart):
    text: str
    """Tidied: NFC, single spaces. Of a picture, the picture as a data URL."""
    lang: str
    dir: Literal["ltr", "rtl"]
    origin: Literal["decoded", "given"] = sometimes("Only of the target: found by a search, or given.")
    tokens: list[TraceToken]
    """Every token, the special ones included."""
    words: list[TraceWord]
    """Every token is in exactly one word."""
    image: TracePicture = sometimes("Only of a source that is a picture.")
    novelty: TraceNovelty = sometimes(
        "Only of a source, where the model knows what stood together in training."
    )


class TraceDecode(DocumentPart):
    """How the target came about. Settings of a search are there where there was one."""

    method: Literal["beam", "greedy", "sample", "given"]
    beam: int = sometimes(ge=0)
    n_best: int = sometimes(ge=0)
    length_penalty: float = sometimes()
    max_len: int = sometimes(ge=0)
    min_len: int = sometimes(ge=0)
    no_repeat_ngram: int = sometimes(ge=0)
    temperature: Number = sometimes()
    top_k: int | None = sometimes()
    top_p: Number = sometimes()
    seed: int | None = sometimes()
    mbr: int = sometimes("Only of an answer that was chosen among this many draws.", ge=2)
    utility: Utility = sometimes("What they were compared by.")
    prefix: str = sometimes()
    ban: list[str] = sometimes()
    require: list[str] = sometimes()
    score: Number
    """Sum of the log-probabilities, in nats."""
    score_per_token: Number
    finished: bool
    """The target came to its end."""
    ms: Number
    """What the search took; null where there was none."""


class Candidate(DocumentPart):
    id: Count
    text: str
    piece: str = sometimes("As the vocabulary has it: with the space that a word begins with.")
    logprob: Number


class TraceStep(DocumentPart):
    t: Count
    id: Count
    text: str
    logprob: Number
    """In nats."""
    entropy: Number
    """Of the whole distribution, in bits."""
    top: list[Candidate]
    """The best candidates, best first."""
    copied: Annotated[float, Field(ge=0, le=1)] | None = sometimes(
        "Only of a model that copies: the share copied from the source; the rest is from the vocabulary."
    )


class HeadProfile(DocumentPart):
    """What each head does, [layer][head]; means over queries."""

    entropy: list[list[Number]]
    """Mean entropy of a query, in bits."""
    distance: list[list[Number]]
    """Mean |q - k|."""
    diagonal: list[list[Number]]
    """Share on the diagonal."""
    previous: list[list[Number]]
    """Share on the key before."""
    special: list[list[Number]]
    """Share on special tokens."""
    max: list[list[Number]]
    """Mean of the largest weight of a query."""
    label: list[list[Label]]
    """What the head mostly does."""


class AtlasName(DocumentPart):
    tensor: str


class TraceAttention(DocumentPart):
    """One kind of attention. Row t of decoder kinds is the step that wrote target token t."""

    q: Literal["source", "target"]
    """The side that the queries are."""
    k: Literal["source", "target_in"]
    """The side that the keys are."""
    causal: bool
    shape: tuple[Count, Count, Count, Count]
    """Layers, heads, queries, keys."""
    stages: list[Stage]
    """Tensors of each head, {kind}.{stage}; `out` is of a layer."""
    atlas: AtlasName
    fingerprint: HeadProfile


class TraceStates(DocumentPart):
    """The states of a recurrent model."""

    encoder: tuple[Count, Count]
    """Shape of rnn.encoder: source tokens, width."""
    decoder: tuple[Count, Count]
    """Shape of rnn.decoder: steps, width."""
    bridge: tuple[Count, Count, Count]
    """Shape of rnn.bridge: layers, parts of a cell's state, width."""
    layers: Size
    cell: Literal["rnn", "gru", "lstm"]
    bidirectional: bool
    input_feeding: bool


class TraceLink(DocumentPart):
    href: str


class TraceWarning(DocumentPart):
    code: str
    message: str


class Manifest(DocumentPart):
    """One translation of one sentence: everything but its tensors. Readers ignore keys they do not know. A
    number that is not finite is null, and a sibling key with _nonfinite after its name says nan, inf or -inf.
    """

    schema_: Literal["trace/1"] = Field(alias="schema")
    id: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    """Equal for equal inputs."""
    model: TraceModel
    source: TraceSide
    target: TraceSide
    target_in: TraceSide
    """The target as the decoder reads it: a start, then all tokens but the last."""
    decode: TraceDecode
    steps: list[TraceStep]
    """One for each target token."""
    attention: dict[Kind, TraceAttention]
    """The kinds that this trace holds; empty for a model without attention."""
    rnn: TraceStates | None
    beam: TraceLink | None
    influence: TraceLink | None
    positions: TraceLink | None
    interventions: list[Annotated[Op, Field(discriminator="op")]]
    warnings: list[TraceWarning]


class BeamNode(DocumentPart):
    n: Count
    parent: Count | None
    """The node it goes on from; null for the root."""
    t: Annotated[int, Field(ge=-1)]
    """Place of its token in the answer; -1 for the root."""
    id: Count
    text: str
    """The token as people see it, with its leading space; a byte as <0xEA>."""
    logprob: Annotated[float, Field(le=0)]
    """The model's own log-probability of the token."""
    score: Annotated[float, Field(le=0)]
    """The sum of the log-probabilities from the root."""
    norm: Annotated[float, Field(le=0)]
    """The score divided by ((5 + length) / 6) ** length_penalty; the length counts an end."""
    state: Literal["expanded", "pruned", "finished", "chosen"]
    """Lived on; rejected; ended, but another was better; part of the answer."""
    rank: Count
    """Place among the ways on from its parent, 0 for the best."""
    beam: Count | None
    """Place among the hypotheses that lived on, 0 for the best; null if it did not."""


class BeamDocument(DocumentPart):
    """The tree of one beam search. Readers ignore keys they do not know."""

    schema_: Literal["beam/1"] = Field(alias="schema")
    beam: Size
    """Hypotheses that could live at a time."""
    length_penalty: Annotated[float, Field(ge=0)]
    """Exponent of ((5 + length) / 6), which a score is divided by."""
    nodes: Annotated[list[BeamNode], Field(min_length=1)]
    """Node n stands at place n, after its parent; the first is the root."""
    chosen: list[Count]
    """The nodes of the answer, from the root to its last token."""
    stable_prefix: Count
    """Leading tokens of the answer that all hypotheses shared that were in the running at the end."""
    dropped_candidates: str
    """Which of the rejected candidates are kept, in words."""


class ForwardTensor(DocumentPart):
    """One tensor of a forward pass."""

    stage: str
    """Where in the model, such as `encoder layer 1`."""
    operation: str
    """What it is, in the words of the papers."""
    axes: str
    """Its axes by letter, such as [B,S,D]."""
    shape: list[Count]
    """Its sizes; B is 1."""
    dtype: str
    how: How
    """What was done to the inputs."""
    inputs: list[Count]
    """What it was made of: places of other tensors."""
    number: Number
    """A constant of the step: √d_k, √D, the ε of a norm, which gate of a cell."""
    detail: bool
    """A weight, or a step within another: not in the table of the papers."""


class ForwardDocument(DocumentPart):
    """Every tensor of the pass behind a trace, in the order of computation; the numbers of the one at place 4
    are the tensor `forward.tensor:4` of the trace. Readers ignore keys they do not know.
    """

    schema_: Literal["forward/1"] = Field(alias="schema")
    id: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    """Of the trace."""
    model: TraceModel
    source: TraceSide
    target: TraceSide
    target_in: TraceSide
    sizes: dict[str, Count]
    """What each letter stands for."""
    tensors: list[ForwardTensor]
