"""The interventions of a what-if: frozen values, checked whenever one is made, and their JSON form.

Layers, heads and positions count from 0. `layer` and `head` are a number, several, or "*" for all. Query
positions are absolute: position 3 of `cross` is the step that writes target token 3.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from jumok.edits import Kind
from jumok.errors import ConfigError, nearest
from jumok.explain.op_fields import (
    BridgeField,
    BridgeMode,
    Ids,
    Index,
    IndexField,
    KindField,
    Numbers,
    PositionField,
    PositionMode,
    Real,
    Shift,
    SideField,
    Text,
    Texts,
    Weights,
    Whole,
)

MOST_OPS = 64


def bad_parameter(message: str, *, hint: str = "", where: str = "", field: str | None = None) -> ConfigError:
    """The error of something that cannot be read, or not be applied to this model and text."""
    return ConfigError(message, where=where, hint=hint, code="bad_parameter", field=field)


def check_name(option: str, value: object, names: Sequence[str]) -> None:
    """Refuse a value that is none of these names."""
    if value not in names:
        raise bad_parameter(f"{option}={value!r} is unknown", hint=nearest(str(value), names))


def brief(value: object) -> str:
    """A value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


class Intervention(BaseModel):
    """One change to the model, to the search or to the source."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    op: str


class OnHeads(Intervention):
    """One that changes heads of one kind of attention."""

    kind: KindField
    layer: IndexField
    head: IndexField


class MaskHead(OnHeads):
    """The head's context before its output projection, or the share copied, times 0; not renormalised."""

    op: Literal["mask_head"]


class ScaleHead(OnHeads):
    """The head's context is multiplied by a factor, or the share copied, which stays in 0 to 1."""

    op: Literal["scale_head"]
    factor: Real


class MaskEdge(OnHeads):
    """Minus infinity before the softmax where each q looks at each k; the row renormalises over the rest."""

    op: Literal["mask_edge"]
    q: Numbers
    k: Numbers


class SetRow(OnHeads):
    """The row of q is replaced after the softmax, normalised to sum 1."""

    op: Literal["set_row"]
    q: Whole
    weights: Weights


class Uniform(OnHeads):
    """Every allowed key gets equal weight."""

    op: Literal["uniform"]


class NoScale(Intervention):
    """No division by √d_k, in every layer of this kind."""

    op: Literal["no_scale"]
    kind: KindField


class Positions(Intervention):
    """Position rows of one side left out, shuffled, or taken from `by` places further on."""

    op: Literal["positions"]
    mode: PositionField
    side: SideField = "source"
    seed: Whole = 0
    by: Shift = 0


class Bridge(Intervention):
    """The vector that a recurrent decoder starts from: zero, that of another text, or the mean over lines."""

    op: Literal["bridge"]
    mode: BridgeField
    text: Text = ""

    @model_validator(mode="after")
    def check(self) -> "Bridge":
        if (self.mode == "zero") == bool(self.text.strip()):
            needs = "takes no text" if self.mode == "zero" else "needs a text"
            raise bad_parameter(
                f"bridge: text is {brief(self.text)}, and mode={self.mode!r} {needs}",
                hint="mode zero takes no text, mean and swap need one",
            )
        return self


class ForcePrefix(Intervention):
    """The answer begins with this text, or with exactly these ids."""

    op: Literal["force_prefix"]
    text: Text = ""
    ids: Ids = ()

    @model_validator(mode="after")
    def check(self) -> "ForcePrefix":
        if bool(self.text.strip()) == bool(self.ids):
            said = "both text and ids are given" if self.ids else "neither a text nor ids are given"
            raise bad_parameter(f"force_prefix: {said}", hint="give text or ids, and not both")
        return self


class Ban(Intervention):
    """Texts that the answer does not contain."""

    op: Literal["ban"]
    text: Texts


class Require(Intervention):
    """Texts that the answer contains."""

    op: Literal["require"]
    text: Texts


class ReplaceSource(Intervention):
    """One word of the given source written anew; a blank text takes it out."""

    op: Literal["replace_source"]
    unit: Whole
    text: Text


HeadOp = MaskHead | ScaleHead | MaskEdge | SetRow | Uniform
Op = HeadOp | NoScale | Positions | Bridge | ForcePrefix | Ban | Require | ReplaceSource
OPS: dict[str, type[Op]] = {get_args(one.model_fields["op"].annotation)[0]: one for one in get_args(Op)}
OpList = Annotated[list[Annotated[Op, Field(discriminator="op")]], Field(max_length=MOST_OPS)]
"""The JSON form of several interventions, for schemas; `parse_ops` reads it."""
OpT = TypeVar("OpT", bound=Intervention)


Heads = Index | Sequence[int]


def mask_head(kind: Kind, layer: Heads, head: Heads) -> MaskHead:
    """Silence heads: what they found is multiplied by 0."""
    return _make(MaskHead, kind=kind, layer=layer, head=head)


def scale_head(kind: Kind, layer: Heads, head: Heads, factor: float) -> ScaleHead:
    """Make heads louder or quieter by a factor."""
    return _make(ScaleHead, kind=kind, layer=layer, head=head, factor=factor)


def mask_edge(
    kind: Kind, layer: Heads, head: Heads, q: int | Sequence[int], k: int | Sequence[int]
) -> MaskEdge:
    """Let no position of q look at any position of k."""
    return _make(MaskEdge, kind=kind, layer=layer, head=head, q=q, k=k)


def set_row(kind: Kind, layer: Heads, head: Heads, q: int, weights: Mapping[int, float]) -> SetRow:
    """Make position q look where `weights` says: weight by key position, normalised to sum 1."""
    return _make(SetRow, kind=kind, layer=layer, head=head, q=q, weights=weights)


def uniform(kind: Kind, layer: Heads, head: Heads) -> Uniform:
    """Make heads look at all allowed keys alike."""
    return _make(Uniform, kind=kind, layer=layer, head=head)


def no_scale(kind: Kind) -> NoScale:
    """Leave out the division by √d_k."""
    return _make(NoScale, kind=kind)


def positions(mode: PositionMode, side: str = "source", seed: int = 0, by: int = 0) -> Positions:
    """Leave out, shuffle (by a seed) or shift (`by` places) the positions of one side."""
    return _make(Positions, mode=mode, side=side, seed=seed, by=by)


def no_positions(side: str = "source") -> Positions:
    """Leave out the positions of one side: source or target; encoder and decoder mean the same."""
    return _make(Positions, mode="none", side=side)


def bridge(mode: BridgeMode, text: str = "") -> Bridge:
    """Start a recurrent decoder from zero, from another text's vector (swap), or from the mean over lines."""
    return _make(Bridge, mode=mode, text=text)


def force_prefix(prefix: str | Sequence[int]) -> ForcePrefix:
    """Begin the answer with a text or with ids."""
    return _make(ForcePrefix, **{"text" if isinstance(prefix, str) else "ids": prefix})


def ban(*texts: str) -> Ban:
    """Forbid texts in the answer."""
    return _make(Ban, text=texts)


def require(*texts: str) -> Require:
    """Require texts in the answer."""
    return _make(Require, text=texts)


def replace_source(unit: int, text: str) -> ReplaceSource:
    """Write word `unit` of the source anew; a blank text takes it out."""
    return _make(ReplaceSource, unit=unit, text=text)


def _make(of: type[OpT], **fields: Any) -> OpT:
    return _read(of, {"op": next(name for name, one in OPS.items() if one is of), **fields})


def parse_ops(given: object) -> tuple[Op, ...]:
    """Interventions from their JSON form: a list of objects with `op` and the fields of that op.

    The message of an error quotes what was given; its hint says what to give instead and quotes nothing.
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise bad_parameter(
            f"interventions must be a list; it is {brief(given)}",
            hint="give a list of objects, each with op",
            field="interventions",
        )
    check_count(given)
    return tuple(_parse_op(one, n) for n, one in enumerate(given))


def check_count(ops: Sequence[object]) -> None:
    if len(ops) > MOST_OPS:
        raise bad_parameter(
            f"there are {len(ops)} interventions, and {MOST_OPS} is the most",
            hint=f"give at most {MOST_OPS}",
            field="interventions",
        )


def _parse_op(given: object, n: int) -> Op:
    where, path = f"interventions[{n}]", f"interventions.{n}"
    if not isinstance(given, Mapping):
        raise bad_parameter(
            f"an intervention must be an object; it is {brief(given)}",
            where=where,
            hint="give an object with op and the fields of that op",
            field=path,
        )
    name = given.get("op")
    if not isinstance(name, str) or name not in OPS:
        said, hint = f"unknown op {brief(name)}", nearest(str(name), OPS)
        if "op" not in given:
            said, hint = "op is missing", f"give one of {', '.join(sorted(OPS))}"
        raise bad_parameter(said, hint=hint, where=where, field=f"{path}.op")
    try:
        return _read(OPS[name], given)
    except ConfigError as error:
        field = f"{path}.{error.field}" if error.field else path
        raise bad_parameter(error.message, hint=error.hint, where=where, field=field) from None


def _read(of: type[OpT], given: Mapping[str, Any]) -> OpT:
    """One intervention from its fields; an error names the field that is wrong."""
    try:
        return of.model_validate(dict(given))
    except ValidationError as error:
        raise _in_our_words(of, error, given) from None


def _in_our_words(of: type[Intervention], error: ValidationError, given: Mapping[str, Any]) -> ConfigError:
    """What pydantic found first, as our error; a name that is not known explains what else is wrong."""
    found = error.errors(include_url=False)
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    if isinstance(ours := first.get("ctx", {}).get("error"), ConfigError):
        return ours
    op, field = given["op"], str(first["loc"][0])
    names = [name for name in of.model_fields if name != "op"]
    if first["type"] == "extra_forbidden":
        return bad_parameter(f"{op}: unknown field {brief(field)}", hint=nearest(field, names), field=field)
    if first["type"] == "missing":
        return bad_parameter(
            f"{op}: {field} is missing", hint=f"give {field}: {op} has {', '.join(names)}", field=field
        )
    about, value = of.model_fields[field], given[field]
    known = [name for name in get_args(about.annotation) if isinstance(name, str)]
    close = nearest(value, known) if known and isinstance(value, str) else ""
    return bad_parameter(
        f"{op}: {field} is {brief(value)}",
        hint=f"it must be {about.description}" + (f"; {close}" if close.startswith("did") else ""),
        field=field,
    )


def ops_to_json(ops: Iterable[Op]) -> list[dict[str, Any]]:
    """The JSON form of interventions, short: fields that have their usual value are left out."""
    return [{"op": one.op, **one.model_dump(mode="json", exclude_defaults=True)} for one in ops]
