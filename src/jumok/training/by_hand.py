"""Takes one training step slowly, on a copy of a model, and keeps the numbers that a person would compute.

The loss is that of `forward_pass`: the mean over the target's tokens, its end included, without dropout,
smoothing or clipping. Axis letters: T target tokens, S source tokens, D width, H heads, K width of one head,
V vocabulary.
"""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from jumok.backends.recording import RecordingBackend
from jumok.config import LuongConfig, ModelConfig, TrainingConfig, TransformerConfig
from jumok.decoding.batched import lay_sources, lay_targets
from jumok.decoding.translator import Translator
from jumok.edits import Where
from jumok.errors import nearest
from jumok.explain.capture import Array, read_only
from jumok.explain.forced import explained, not_finite
from jumok.explain.ops import bad_parameter, check_name
from jumok.explain.subject import Subject, subjects_of
from jumok.explain.tokens import source_side
from jumok.models.interface import Seq2Seq, edits_of
from jumok.models.luong_rows import SCORES
from jumok.models.shape_backend import ATTENTIONS
from jumok.nn.functional import Stages
from jumok.progress import Progress, silent
from jumok.text.tokenizer import EOS
from jumok.training.one_step import (
    DECAY,
    LARGEST_RATE,
    MOST_RATES,
    MOST_STEPS,
    W_OUT,
    BackwardTensor,
    OptimizerName,
    ParameterGradient,
    TrainingStep,
    UpdateRule,
    WeightUpdate,
)
from jumok.training.optimizer import Optimizers

WEIGHT = "target_embedding.weight"  # of W_OUT, where it is tied
CPU = torch.device("cpu")
OfParameters = Mapping[nn.Parameter, Tensor]
Start = tuple[OfParameters, dict[str, Tensor]]
"""Weights, and what the optimiser remembers by name."""


@dataclass(frozen=True)
class StepPlan:
    """What is asked of a step."""

    optimizer: str = "adam"
    lr: float = 1e-3
    steps: int = 0
    token: int | None = None
    weight: str = W_OUT
    index: Sequence[int] | None = None
    rates: Sequence[float] = ()
    weight_decay: float | None = None

    def settings(self) -> TrainingConfig:
        """As the trainer's optimisers read them; refuses what cannot be."""
        check_name("optimizer", self.optimizer, get_args(OptimizerName))
        for name, rate in (("lr", self.lr), *(("rates", rate) for rate in self.rates)):
            if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= LARGEST_RATE:
                raise bad_parameter(
                    f"{name} is {rate!r}", hint=f"give a number above 0, at most {LARGEST_RATE:g}", field=name
                )
        if (
            isinstance(self.steps, bool)
            or not isinstance(self.steps, int)
            or not 0 <= self.steps <= MOST_STEPS
        ):
            raise bad_parameter(
                f"steps is {self.steps!r}", hint=f"give a whole number from 0 to {MOST_STEPS}", field="steps"
            )
        if len(self.rates) > MOST_RATES:
            raise bad_parameter(
                f"there are {len(self.rates)} rates", hint=f"give at most {MOST_RATES}", field="rates"
            )
        decay = self.weight_decay
        if decay is None:
            decay = DECAY if self.optimizer == "adamw" else 0.0
        if not 0 <= decay <= 1:
            raise bad_parameter(
                f"weight_decay is {decay!r}", hint="give a number from 0 to 1", field="weight_decay"
            )
        return TrainingConfig(optimizer=self.optimizer, lr=float(self.lr), weight_decay=decay)  # type: ignore[arg-type]


class BackwardBackend(RecordingBackend):
    """Keeps the tensors that a gradient is asked of as parts of the graph, step by step if so computed."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__(edits_of(model))
        self.attentions: list[tuple[Where, Stages]] = []
        self.h = self.head = self.product = torch.empty(0)

    def logits(self, states: Tensor, head: Tensor, bias: Tensor | None = None) -> Tensor:
        self.h, self.head, self.product = states, head, super().logits(states, head, bias)
        return self.product

    def close(self, out: Tensor) -> None:
        if self.pending is not None:
            self.attentions.append(self.pending)
        super().close(out)

    def last_cross(self, token: int) -> tuple[int, Stages, int] | None:
        """The last layer's look at the source when this token was predicted: layer, stages, row of them."""
        cross = [(layer, stages) for (kind, layer), stages in self.attentions if kind == "cross"]
        if not cross:
            return None
        layer = max(layer for layer, _ in cross)
        last = [stages for one, stages in cross if one == layer]
        return (layer, last[token], 0) if len(last) > 1 else (layer, last[0], token)  # a loop has one each


class Pupil:
    """A copy of a model with one pair to learn from, and the optimiser that changes it."""

    def __init__(self, translator: Translator, subject: Subject, config: TrainingConfig) -> None:
        self.model = copy.deepcopy(translator.model).cpu().float().eval().requires_grad_()
        self.config = translator.config.model
        self.optimizers = Optimizers(self.model, config)
        self.names = {parameter: name for name, parameter in self.model.named_parameters()}
        self.source = lay_sources([subject.source_ids], CPU)
        self.target_in, self.wanted = lay_targets([[*subject.target_ids, EOS]], CPU)

    def forward(self, model: Seq2Seq | None = None) -> tuple[Tensor, Tensor]:
        """The loss of each target token (T,), and the logits (T, V) it comes from."""
        model = model or self.model
        with explained():
            logits = model.decode(self.target_in, model.encode(self.source)).logits()
        return cross_entropy(logits, self.wanted, reduction="none"), logits

    def gradients(self, losses: Tensor, seen: Sequence[Tensor] = ()) -> tuple[list[Tensor], OfParameters]:
        """The gradient of the mean loss at tensors on its way, and at every parameter."""
        wanted = [*seen, *self.names]
        found = torch.autograd.grad(losses.mean(), wanted, allow_unused=True)
        whole = [torch.zeros_like(x) if g is None else g for x, g in zip(wanted, found, strict=True)]
        return whole[: len(seen)], dict(zip(self.names, whole[len(seen) :], strict=True))

    def learn(self, gradients: OfParameters, lr: float) -> None:
        """One step of the optimiser, as the trainer makes it."""
        for parameter, gradient in gradients.items():
            parameter.grad = gradient
        self.optimizers.step(lr)

    def rule(self, plan: StepPlan, config: TrainingConfig) -> UpdateRule:
        """The optimiser in words and numbers."""
        return UpdateRule(
            plan.optimizer,  # type: ignore[arg-type]  # the plan has checked it
            plan.lr,
            plan.steps + 1,
            (config.momentum, config.beta2),
            self.optimizers.all[0].defaults.get("eps", 0.0),
            config.weight_decay,
        )

    def weights(self) -> dict[nn.Parameter, Tensor]:
        return {parameter: parameter.detach().clone() for parameter in self.names}

    def remembered(self, weight: nn.Parameter, index: tuple[int, ...]) -> tuple[float, float | None]:
        """m and v of one weight: 0 before the first step; SGD has no v."""
        state, name = self.optimizers.tensors(), self.names[weight]

        def of(*kinds: str) -> float:
            found = [state[f"{kind}/{name}"] for kind in kinds if f"{kind}/{name}" in state]
            return float(found[0][index]) if found else 0.0

        adam = "betas" in self.optimizers.all[0].defaults
        return of("exp_avg", "momentum_buffer"), of("exp_avg_sq") if adam else None


def training_step(
    translator: Translator, text: str, target: str | None, plan: StepPlan, progress: Progress = silent
) -> TrainingStep:
    """The update number `steps` + 1 by one pair, all of them by this pair; see `Model.training_step`."""
    config = plan.settings()
    targets = None if target is None else [target]
    [subject] = subjects_of(translator, [text], targets=targets, options={"long": "error"})
    with torch.inference_mode(mode=False):
        pupil, total = Pupil(translator, subject, config), plan.steps + 2 + len(plan.rates)
        for done in range(plan.steps):
            progress("training step", done, total)
            pupil.learn(pupil.gradients(pupil.forward()[0])[1], plan.lr)
        progress("training step", plan.steps, total)
        ops = BackwardBackend(pupil.model)
        losses, logits = pupil.forward(pupil.model.using(ops))
        check_losses(losses, plan, plan.steps)
        token = chosen_token(plan.token, losses)
        rows = list(rows_of(ops, logits, token, pupil.config))
        seen, gradients = pupil.gradients(losses, [*(row.whole for row in rows), ops.product])
        weight, index = chosen_weight(plan, pupil, gradients, ops.head, int(pupil.wanted[token]))
        by_token = seen[-1][:, index[0]] * ops.h[:, index[1]] if weight is ops.head else torch.empty(0)
        before, (m_before, v_before) = pupil.weights(), pupil.remembered(weight, index)
        state = {name: value.clone() for name, value in pupil.optimizers.tensors().items()}
        pupil.learn(gradients, plan.lr)
        progress("training step", plan.steps + 1, total)
        losses_after, (m, v) = pupil.forward()[0], pupil.remembered(weight, index)
        check_losses(losses_after, plan, plan.steps + 1)
        new = float(weight.detach()[index])
        at_rates = dict(losses_at(pupil, (before, state), gradients, plan, progress))
    old, slope = (float(each[weight][index]) for each in (before, gradients))
    ids = tuple(pupil.wanted.tolist())
    side = source_side(
        translator.tokenizers, subject.source_ids, subject.source, "", end=not translator.tokenizers.pictures
    )
    return TrainingStep(
        subject.source,
        tuple(piece["text"] for piece in side["tokens"]),
        subject.target,
        tuple(translator.tokenizers.target.pieces(ids)),
        ids,
        token,
        pupil.rule(plan, config),
        numbers_of(losses),
        numbers_of(losses_after),
        tuple(row.named(one) for row, one in zip(rows, seen[:-1], strict=True)),
        tuple(
            ParameterGradient(pupil.names[one], tuple(one.shape), float(gradient.norm()))
            for one, gradient in gradients.items()
        ),
        WeightUpdate(
            pupil.names[weight], index, old, slope, tuple(by_token.tolist()), m_before, v_before, m, v, new
        ),
        at_rates,
    )


class TokenRow(NamedTuple):
    """The part of a tensor that belongs to one target token."""

    stage: str
    operation: str
    axes: str
    whole: Tensor
    place: tuple[Any, ...]

    def named(self, gradient: Tensor) -> BackwardTensor:
        return BackwardTensor(
            self.stage,
            self.operation,
            self.axes,
            numbers_of(self.whole[self.place]),
            numbers_of(gradient[self.place]),
        )


def rows_of(ops: BackwardBackend, logits: Tensor, token: int, config: ModelConfig) -> Iterator[TokenRow]:
    """From the loss backwards, what stands on the way of one token: logits, h, and the last look back."""
    yield TokenRow("output", "logits", "[V]", logits, (token,))
    yield TokenRow("output", "h, what W_out multiplies", "[D]", ops.h, (token,))
    if (looked := ops.last_cross(token)) is None:
        return
    layer, stages, row = looked
    place = (0, slice(None), row)  # the one sentence, all heads
    if isinstance(config, LuongConfig):
        stage, names = "attention", ("c_t = α_t H", "α_t = softmax(E_t)", SCORES[config.score])
    else:
        stage, kind = f"decoder layer {layer + 1}", ATTENTIONS["cross"]
        scores = "Q Kᵀ" if isinstance(config, TransformerConfig) and not config.scaled else "Q Kᵀ / √d_k"
        names = (f"{kind}: weights V", f"{kind}: softmax({scores})", f"{kind}: {scores}")
    yield TokenRow(stage, names[0], "[H,d_k]", stages.context, place)
    yield TokenRow(stage, names[1], "[H,S]", stages.weights, place)
    yield TokenRow(stage, names[2], "[H,S]", stages.scaled, place)


def check_losses(losses: Tensor, plan: StepPlan, updates: int) -> None:
    """Refuse a loss that is not finite: of the model as it is, or after so many updates."""
    if losses.isfinite().all():
        return
    if not updates:
        raise not_finite()
    said = f"after update {updates} at the rate {plan.lr:g} the loss is not finite"
    raise bad_parameter(said, hint="choose a smaller rate", field="lr")


def losses_at(
    pupil: Pupil, start: Start, gradients: OfParameters, plan: StepPlan, progress: Progress
) -> Iterator[tuple[float, float | None]]:
    """The loss after the same step from its start, at each of the rates; None where it is not finite."""
    weights, state = start
    for done, rate in enumerate(plan.rates, start=plan.steps + 2):
        progress("training step", done, plan.steps + 2 + len(plan.rates))
        with torch.no_grad():
            for parameter, value in weights.items():
                parameter.copy_(value)
        pupil.optimizers = Optimizers(pupil.model, plan.settings())
        pupil.optimizers.load(state)
        pupil.learn(gradients, rate)
        loss = float(pupil.forward()[0].detach().mean())
        yield float(rate), loss if math.isfinite(loss) else None


def chosen_token(token: int | None, losses: Tensor) -> int:
    """The target token asked for; without one that with the largest loss, where most is to be learned."""
    if token is None:
        return int(losses.argmax())
    if not is_whole(token, len(losses)):
        raise bad_parameter(
            f"token is {token!r}, and the target has {len(losses)} tokens, its end included",
            hint=f"give a whole number from 0 to {len(losses) - 1}",
            field="token",
        )
    return token


def chosen_weight(
    plan: StepPlan, pupil: Pupil, gradients: OfParameters, head: Tensor, right: int
) -> tuple[nn.Parameter, tuple[int, ...]]:
    """The weight asked for. Without an index the one with the largest gradient, of W_out in the right row."""
    named = {name: parameter for parameter, name in pupil.names.items()}
    named |= dict.fromkeys([W_OUT], next(one for one in pupil.names if one is head))
    if plan.weight not in named:
        raise bad_parameter(
            f"weight={plan.weight!r} is no parameter of this model",
            hint=nearest(str(plan.weight), named, f"give W_out or the name of a parameter, such as {WEIGHT}"),
            field="weight",
        )
    weight = named[plan.weight]
    if plan.index is not None:
        return weight, checked_index(tuple(plan.index), tuple(weight.shape))
    size = gradients[weight].abs()
    if weight is head:
        return weight, (right, int(size[right].argmax()))
    return weight, tuple(int(i) for i in torch.unravel_index(size.argmax(), size.shape))


def checked_index(index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    whole = all(isinstance(i, int) and not isinstance(i, bool) for i in index)
    if (
        len(index) != len(shape)
        or not whole
        or not all(0 <= i < n for i, n in zip(index, shape, strict=True))
    ):
        ranges = " and ".join(f"0 to {n - 1}" for n in shape)
        raise bad_parameter(
            f"index is {list(index)}, and the parameter has the shape {list(shape)}",
            hint=f"give {len(shape)} whole number{'s' * (len(shape) > 1)}: {ranges}",
            field="index",
        )
    return index


def is_whole(number: object, end: int) -> bool:
    """Whether it is a whole number from 0 to below `end`."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < end


def numbers_of(x: Tensor) -> Array:
    return read_only(x.detach().numpy().copy())
