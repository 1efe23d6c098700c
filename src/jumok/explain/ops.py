"""The interventions of a what-if: frozen values, checked whenever one is made, and their JSON form.

Layers, heads and positions count from 0. `layer` and `head` are a number, several, or "*" for all. Query
positions are absolute: position 3 of `cross` is the step that writes target token 3.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, get_args, get_type_hints

from jumok.errors import ConfigError, nearest
from jumok.explain.op_fields import (
    Ids,
    Index,
    IndexField,
    KindField,
    Number,
    Numbers,
    OneOf,
    Real,
    Shift,
    SideField,
    Text,
    Texts,
    Weights,
)
from jumok.models.interface import Kind

MOST_OPS = 64

PositionMode = Literal["none", "shuffle", "shift"]
BridgeMode = Literal["zero", "mean", "swap"]


def bad_parameter(message: str, *, hint: str = "", where: str = "", field: str | None = None) -> ConfigError:
    """The error of an intervention that cannot be read, or not be applied to this model and text."""
    return ConfigError(message, where=where, hint=hint, code="bad_parameter", field=field)


def brief(value: object) -> str:
    """A value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


@dataclass(frozen=True)
class Checked:
    """Reads every field by the reader in its annotation, so that no intervention holds a bad value."""

    op: ClassVar[str]

    def __post_init__(self) -> None:
        for field, read in readers(type(self)).items():
            value = getattr(self, field)
            try:
                object.__setattr__(self, field, read(value))
            except ValueError as error:
                known = read.names if isinstance(read, OneOf) and isinstance(value, str) else ()
                raise bad_parameter(
                    f"{self.op}: {field} {error}; it is {brief(value)}",
                    hint=nearest(str(value), known) if known else "",
                ) from None


def readers(of: type[Checked]) -> dict[str, Callable[[object], Any]]:
    """The reader of each field of an intervention."""
    hints = get_type_hints(of, include_extras=True)
    return {field.name: hints[field.name].__metadata__[0] for field in fields(of)}


@dataclass(frozen=True)
class MaskHead(Checked):
    """The head's context before its output projection, or the share copied, times 0; not renormalised."""

    op = "mask_head"
    kind: KindField
    layer: IndexField
    head: IndexField


@dataclass(frozen=True)
class ScaleHead(Checked):
    """The head's context is multiplied by a factor, or the share copied, which stays in 0 to 1."""

    op = "scale_head"
    kind: KindField
    layer: IndexField
    head: IndexField
    factor: Real


@dataclass(frozen=True)
class MaskEdge(Checked):
    """Minus infinity before the softmax where each q looks at each k; the row renormalises over the rest."""

    op = "mask_edge"
    kind: KindField
    layer: IndexField
    head: IndexField
    q: Numbers
    k: Numbers


@dataclass(frozen=True)
class SetRow(Checked):
    """The row of q is replaced after the softmax, normalised to sum 1."""

    op = "set_row"
    kind: KindField
    layer: IndexField
    head: IndexField
    q: Number
    weights: Weights


@dataclass(frozen=True)
class Uniform(Checked):
    """Every allowed key gets equal weight."""

    op = "uniform"
    kind: KindField
    layer: IndexField
    head: IndexField


@dataclass(frozen=True)
class NoScale(Checked):
    """No division by √d_k, in every layer of this kind."""

    op = "no_scale"
    kind: KindField


@dataclass(frozen=True)
class Positions(Checked):
    """Position rows of one side left out, shuffled, or taken from `by` places further on."""

    op = "positions"
    mode: Annotated[PositionMode, OneOf(get_args(PositionMode))]
    side: SideField = "source"
    seed: Number = 0
    by: Shift = 0


@dataclass(frozen=True)
class Bridge(Checked):
    """The vector that a recurrent decoder starts from: zero, that of another text, or the mean over lines."""

    op = "bridge"
    mode: Annotated[BridgeMode, OneOf(get_args(BridgeMode))]
    text: Text = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.mode == "zero") == bool(self.text.strip()):
            needs = "takes no text" if self.mode == "zero" else "needs a text"
            raise bad_parameter(f"bridge: text is {brief(self.text)}, and mode={self.mode!r} {needs}")


@dataclass(frozen=True)
class ForcePrefix(Checked):
    """The answer begins with this text, or with exactly these ids."""

    op = "force_prefix"
    text: Text = ""
    ids: Ids = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.text.strip()) == bool(self.ids):
            raise bad_parameter("force_prefix: text or ids must be given, and not both")


@dataclass(frozen=True)
class Ban(Checked):
    """Texts that the answer does not contain."""

    op = "ban"
    text: Texts


@dataclass(frozen=True)
class Require(Checked):
    """Texts that the answer contains."""

    op = "require"
    text: Texts


@dataclass(frozen=True)
class ReplaceSource(Checked):
    """One word of the given source written anew; a blank text takes it out."""

    op = "replace_source"
    unit: Number
    text: Text


HeadOp = MaskHead | ScaleHead | MaskEdge | SetRow | Uniform
Op = HeadOp | NoScale | Positions | Bridge | ForcePrefix | Ban | Require | ReplaceSource
OPS: dict[str, type[Op]] = {one.op: one for one in get_args(Op)}


def mask_head(kind: Kind, layer: Index | Sequence[int], head: Index | Sequence[int]) -> MaskHead:
    """Silence heads: what they found is multiplied by 0."""
    return MaskHead(kind, as_given(layer), as_given(head))


def scale_head(
    kind: Kind, layer: Index | Sequence[int], head: Index | Sequence[int], factor: float
) -> ScaleHead:
    """Make heads louder or quieter by a factor."""
    return ScaleHead(kind, as_given(layer), as_given(head), factor)


def mask_edge(
    kind: Kind,
    layer: Index | Sequence[int],
    head: Index | Sequence[int],
    q: int | Sequence[int],
    k: int | Sequence[int],
) -> MaskEdge:
    """Let no position of q look at any position of k."""
    return MaskEdge(kind, as_given(layer), as_given(head), as_given(q), as_given(k))


def set_row(
    kind: Kind,
    layer: Index | Sequence[int],
    head: Index | Sequence[int],
    q: int,
    weights: Mapping[int, float],
) -> SetRow:
    """Make position q look where `weights` says: weight by key position, normalised to sum 1."""
    return SetRow(kind, as_given(layer), as_given(head), q, as_given(weights))


def uniform(kind: Kind, layer: Index | Sequence[int], head: Index | Sequence[int]) -> Uniform:
    """Make heads look at all allowed keys alike."""
    return Uniform(kind, as_given(layer), as_given(head))


def no_scale(kind: Kind) -> NoScale:
    """Leave out the division by √d_k."""
    return NoScale(kind)


def positions(mode: PositionMode, side: str = "source", seed: int = 0, by: int = 0) -> Positions:
    """Leave out, shuffle (by a seed) or shift (`by` places) the positions of one side."""
    return Positions(mode, as_given(side), seed, by)


def no_positions(side: str = "source") -> Positions:
    """Leave out the positions of one side: source or target; encoder and decoder mean the same."""
    return Positions("none", as_given(side))


def bridge(mode: BridgeMode, text: str = "") -> Bridge:
    """Start a recurrent decoder from zero, from another text's vector (swap), or from the mean over lines."""
    return Bridge(mode, text)


def force_prefix(prefix: str | Sequence[int]) -> ForcePrefix:
    """Begin the answer with a text or with ids."""
    return ForcePrefix(text=prefix) if isinstance(prefix, str) else ForcePrefix(ids=as_given(prefix))


def ban(*texts: str) -> Ban:
    """Forbid texts in the answer."""
    return Ban(texts)


def require(*texts: str) -> Require:
    """Require texts in the answer."""
    return Require(texts)


def replace_source(unit: int, text: str) -> ReplaceSource:
    """Write word `unit` of the source anew; a blank text takes it out."""
    return ReplaceSource(unit, text)


def as_given(value: Any) -> Any:
    """What a caller may give for a field; the field's reader brings it into its one form."""
    return value


def parse_ops(given: object) -> tuple[Op, ...]:
    """Interventions from their JSON form: a list of objects with `op` and the fields of that op."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise bad_parameter(f"interventions must be a list; it is {brief(given)}")
    if len(given) > MOST_OPS:
        raise bad_parameter(f"there are {len(given)} interventions, and {MOST_OPS} is the most")
    return tuple(parse_op(one, f"interventions[{i}]") for i, one in enumerate(given))


def parse_op(given: object, where: str) -> Op:
    """One intervention from its JSON form; `where` goes into the error."""
    if not isinstance(given, Mapping):
        raise bad_parameter(f"an intervention must be an object; it is {brief(given)}", where=where)
    name = given.get("op")
    if not isinstance(name, str) or name not in OPS:
        said = f"unknown op {brief(name)}" if "op" in given else "op is missing"
        raise bad_parameter(said, hint=nearest(str(name), OPS), where=where)
    known = fields(OPS[name])
    names = [field.name for field in known]
    for field in given:
        if field != "op" and field not in names:
            raise bad_parameter(
                f"{name}: unknown field {brief(field)}", hint=nearest(str(field), names), where=where
            )
    for one in known:
        if one.default is MISSING and one.name not in given:
            raise bad_parameter(
                f"{name}: {one.name} is missing", hint=f"its fields: {', '.join(names)}", where=where
            )
    try:
        return OPS[name](**{field: value for field, value in given.items() if field != "op"})
    except ConfigError as error:
        raise bad_parameter(error.message, hint=error.hint, where=where) from None


def ops_to_json(ops: Iterable[Op]) -> list[dict[str, Any]]:
    """The JSON form of interventions, short: fields that have their usual value are left out."""
    return [{"op": one.op, **op_fields(one)} for one in ops]


def op_fields(op: Op) -> dict[str, Any]:
    """The fields of one intervention as JSON has them."""
    found: dict[str, Any] = {}
    for field in fields(op):
        value = getattr(op, field.name)
        if value != field.default:
            found[field.name] = list(value) if isinstance(value, tuple) else value
    if isinstance(op, SetRow):
        found["weights"] = {str(k): weight for k, weight in op.weights}
    return found
