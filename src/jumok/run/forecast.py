"""What a run will take: tokens a second and bytes of memory, by formulas of a few lines each.

Rough on purpose: within a factor of two of what was measured is enough to choose a length and to refuse what
cannot fit. Axis letters: D width, F inner width, V vocabulary, S and T lengths.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from jumok.config import LuongConfig, ModelConfig, RnnConfig, RunConfig, TransformerConfig, copies
from jumok.errors import ConfigError
from jumok.models.build import build_model
from jumok.progress import duration
from jumok.run.machine import Machine
from jumok.training.updates import packs

GATES = {"rnn": 1, "gru": 3, "lstm": 4}

# Speed: the share of the measured matrix speed that training reaches, by device and batches.
EFFICIENCY = {
    ("cpu", "sorted"): 0.4,
    ("cpu", "packed"): 0.4,
    ("cuda", "sorted"): 0.2,
    ("cuda", "packed"): 0.5,  # 0.5 of a base Transformer's and 0.67 of a big one's, measured
}
RECURRENT_ON_GPU = 0.1  # cells compute in fp32, a step at a time
KERNELS = 45  # that one layer starts on a GPU, forward and backward
OTHER_KERNELS = 80  # embedding, head, loss, optimiser
KERNEL = {"packed": 5.5e-6, "sorted": 1e-5}  # seconds each at least: replayed from a graph, or told by Python
TIME_STEP = 4e-5  # seconds of one layer and one step in time, forward and backward, however narrow
FED_STEP = 2e-3  # seconds of one step in time with input feeding, which Python tells

# Memory: bytes beside what a token takes.
PER_WEIGHT = 18  # weight, gradient and two moments in fp32, a copy in bf16
FROZEN, ADAPTED = 6, 14  # weight and copy; with where it started and a gradient on its way to the adapters
LOGITS = 2**30  # logits of a packed batch exist in chunks of this size
CONTEXT = 2 * 2**30  # CUDA, its libraries, and what lies between tensors
USABLE = 0.95  # share of the device's memory
GIB = 2**30

# The second look: seconds of training between which a run measures itself, and what is worth a word.
LOOK_FROM, LOOK_UNTIL, FAR_OFF = 5.0, 40.0, 1.5


def piece_tokens(config: RunConfig, machine: Machine) -> int:
    """Source + target tokens that one pass of one process takes."""
    training = config.training
    return -(-training.batch_tokens // (training.accumulate * machine.processes))


# Speed


def tokens_per_second(config: RunConfig, machine: Machine) -> float:
    """Six operations per weight and token, at a share of the matrix speed; but no update is free."""
    device = torch.device(machine.device)
    batches = "packed" if packs(config, device) else "sorted"
    weights = active_weights(config.model, config.text.vocabulary)
    steps_in_time = machine.gpu and isinstance(config.model, RnnConfig | LuongConfig)
    share = RECURRENT_ON_GPU if steps_in_time else EFFICIENCY[device.type, batches]
    passes = (2 if config.training.rdrop else 1) * work_left(config)
    rate = share * machine.gflops * 1e9 / (6 * weights * passes)
    if not machine.gpu:
        if config.training.precision == "bf16" and isinstance(config.model, TransformerConfig):
            rate *= machine.gain**0.75  # what is not a product stays as it was
        threads = config.training.threads
        return rate * min(1.0, threads / machine.cores) if threads else rate
    seconds = config.training.accumulate * least_seconds(config, batches)
    return min(rate * machine.processes, config.training.batch_tokens / seconds)


def work_left(config: RunConfig) -> float:
    """Share of the work of an update that is left where layers are frozen: a weight has two operations on the
    way forward, two for what comes back through it, and two for its own gradient."""
    frozen, model = config.training.frozen_parts, config.model
    if not isinstance(model, TransformerConfig) or not frozen:
        return 1.0
    encoder, decoder = (
        layers * weights
        for layers, weights in zip(
            (model.encoder_layers, model.decoder_layers), layer_weights(model), strict=True
        )
    )
    tables = model.width * config.text.vocabulary
    left = {"encoder": 6, "decoder": 6, "embeddings": 6}
    left |= {part: 4 for part in left if part in frozen}
    if {"encoder", "embeddings"} <= {*frozen}:
        left["encoder"] = 2  # nothing before it learns, so nothing comes back
    done = encoder * left["encoder"] + decoder * left["decoder"] + tables * left["embeddings"]
    return done / (6 * (encoder + decoder + tables))


def least_seconds(config: RunConfig, batches: str) -> float:
    """Seconds that one pass on a GPU takes, however few its tokens are."""
    model = config.model
    if isinstance(model, TransformerConfig):
        layers = model.encoder_layers + 1.5 * model.decoder_layers  # these have a second attention
        return (KERNELS * layers + OTHER_KERNELS) * KERNEL[batches]
    if not isinstance(model, RnnConfig | LuongConfig):
        return (KERNELS * len(matrices(model)) / 4 + OTHER_KERNELS) * KERNEL["sorted"]  # four make a layer
    steps = config.data.max_length / 2  # the longest sentence of a batch, told by the limit
    encoder = decoder = model.layers * TIME_STEP
    if isinstance(model, LuongConfig) and model.input_feeding:
        decoder = FED_STEP
    return steps * (encoder + decoder)


def active_weights(model: ModelConfig, vocabulary: int) -> float:
    """Weights that one token passes, averaged over source and target."""
    D = model.width
    if isinstance(model, TransformerConfig):
        encoder, decoder = layer_weights(model)
        return (model.encoder_layers * encoder + model.decoder_layers * decoder + D * vocabulary) / 2
    if not isinstance(model, RnnConfig | LuongConfig):
        return (sum(rows * columns for rows, columns in matrices(model)) + D * vocabulary) / 2
    return (2 * model.layers * GATES[model.cell] * 2 * D * D + 3 * D * D + D * vocabulary) / 2


def matrices(model: ModelConfig) -> list[tuple[int, int]]:
    """The shapes of all matrices of a model that has no formula here, beside its tables."""
    with torch.device("meta"):
        built = build_model(model, 1, 1, shared=True)  # tables of one row
    return [(len(one), one[0].numel()) for one in built.parameters() if one.dim() > 1 and len(one) > 1]


def layer_weights(model: TransformerConfig) -> tuple[int, int]:
    """Of an encoder layer, and of a decoder layer."""
    D, E, F = model.width, model.heads * model.d_k, model.feedforward
    network = (3 if model.gated else 2) * D * F
    return 4 * D * E + network, 8 * D * E + network


@dataclass
class SecondForecast:
    """The plan measured a machine for a moment; a run measures itself in its first minute, and says how long
    it will take if the plan was far off.
    """

    seconds: float  # as planned
    steps: int
    say: Callable[[int, str], None]
    marks: list[tuple[int, float]] = field(default_factory=list)  # step and seconds when the look began
    tokens: int = 0
    over: bool = False

    def on_step(self, step: int, elapsed: float, tokens: int) -> None:
        """Hear of an update: after the first seconds tokens are counted, within the minute they are told."""
        if self.over:
            return
        self.marks = self.marks or [(step, elapsed)]
        _, began = self.marks[0]
        if len(self.marks) == 1:
            if elapsed - began >= LOOK_FROM:
                self.marks.append((step, elapsed))
            return
        self.tokens += tokens
        step_then, then = self.marks[1]
        if elapsed - began < LOOK_UNTIL or step == step_then:
            return
        self.over = True
        whole = elapsed + (self.steps - step) * (elapsed - then) / (step - step_then)
        if not 1 / FAR_OFF < whole / self.seconds < FAR_OFF:
            rate = self.tokens / (elapsed - then)
            self.say(
                step,
                f"about {duration(whole)} in all, at {rate:,.0f} tokens/s as measured now; "
                f"the forecast was {duration(self.seconds)}",
            )


# Memory


@dataclass(frozen=True)
class Need:
    """Bytes that training takes on a GPU: at rest, and for each source or target token of a pass."""

    at_rest: float
    per_token: float

    def bytes(self, tokens: float) -> float:
        return self.at_rest + tokens * self.per_token

    def tokens(self, memory: float) -> int:
        """How many fit."""
        return int((memory - self.at_rest) / self.per_token)


def need_of(config: RunConfig, machine: Machine) -> Need:
    """What the model and its optimiser take, and what a pass keeps until it has gone back."""
    packed, training = packs(config, torch.device(machine.device)), config.training
    weights = held_bytes(config)
    if training.shard:
        weights /= machine.processes
    number = 2 if machine.bf16 and training.precision != "fp32" else 4  # bytes
    kept = kept_numbers(config.model, config.data.max_length) * number
    if not packed:  # plain torch: masks of dropout, and copies in fp32
        kept = 2.5 * kept
    if copies(config.model):  # all probabilities at once: for each target, half of all
        kept += config.text.vocabulary * 12 / 2
    passes = 2 if training.rdrop else 1
    return Need(weights + LOGITS + CONTEXT, kept * passes)


def all_weights(config: RunConfig) -> float:
    model, V = config.model, config.text.vocabulary
    tables = (1 if config.text.shared else 2) + (0 if model.tied else 1)
    if isinstance(model, TransformerConfig):
        encoder, decoder = layer_weights(model)
        return model.encoder_layers * encoder + model.decoder_layers * decoder + tables * V * model.width
    return 2 * active_weights(model, 0) + tables * V * model.width


def held_bytes(config: RunConfig) -> float:
    """Bytes of weights and optimiser; frozen ones have no gradient, moments, average or anchor."""
    training, every = config.training, all_weights(config)
    learned = PER_WEIGHT + (4 if training.ema else 0) + (4 if training.anchor else 0)
    if training.lora:
        return every * (ADAPTED + (4 if training.ema else 0))
    model = config.model
    if not isinstance(model, TransformerConfig):
        return every * learned
    encoder, decoder = layer_weights(model)
    stacks = {"encoder": model.encoder_layers * encoder, "decoder": model.decoder_layers * decoder}
    frozen: float = sum(stacks.get(part, 0) for part in training.frozen_parts)
    frozen += every - sum(stacks.values()) if "embeddings" in training.frozen_parts else 0
    return (every - frozen) * learned + frozen * FROZEN


def kept_numbers(model: ModelConfig, length: int) -> float:
    """Numbers that one token leaves behind for the way back, averaged over source and target."""
    D = model.width
    if isinstance(model, TransformerConfig):
        # Projections and contexts, sums and norms, the inner layer: before an activation other than relu and
        # beside a gate it is kept as well.
        E, F = model.heads * model.d_k, model.feedforward
        F *= 1 + (model.activation != "relu") + 2 * model.gated
        encoder, decoder = 4 * E + 4 * D + F, 7 * E + 7 * D + F
        if model.positions == "relative":  # what is added to the scores in bands, and their weights
            encoder, decoder = encoder + 6 * model.heads * length, decoder + 4 * model.heads * length
        return (model.encoder_layers * encoder + model.decoder_layers * decoder) / 2 + 4 * D
    if not isinstance(model, RnnConfig | LuongConfig):  # what each matrix gives, and what is done with it
        return 4 * sum(rows for rows, _ in matrices(model)) / 2 + 8 * D
    kept: float = model.layers * (2 * GATES[model.cell] + 2) * D + 8 * D
    if isinstance(model, LuongConfig):  # tables of states and scores; "concat" keeps D numbers for each pair
        pairs = length / 2 * (2 * D if model.score == "concat" else 3)
        kept += 6 * D + pairs / 2
    return kept


def parts_that_fit(config: RunConfig, machine: Machine) -> int:
    """Micro-batches in which the update fits; 0 if even one pair is too much."""
    fits = need_of(config, machine).tokens(USABLE * machine.memory)
    if fits < 2 * (config.data.max_length + 1):
        return 0
    return -(-config.training.batch_tokens // (fits * machine.processes))


def refuse_too_large(config: RunConfig, machine: Machine) -> None:
    """An update that the GPU's memory cannot hold, with what it could."""
    if not machine.gpu:
        return
    need, tokens, training = need_of(config, machine), piece_tokens(config, machine), config.training
    room = USABLE * machine.memory
    if need.bytes(tokens) <= room:
        return
    has = f"{machine.name} has {machine.memory / GIB:.0f} GiB"
    parts = parts_that_fit(config, machine)
    if not parts:
        raise ConfigError(
            f"this model needs about {need.at_rest / GIB:.1f} GiB before the first sentence, and {has}",
            hint="teach adapters only (--lora 8), or freeze parts (--freeze encoder,embeddings)"
            if config.start.model
            else "choose a smaller one (--preset small, model.width, text.vocabulary), or share it between "
            "several GPUs: torchrun with training.shard=true",
            code="out_of_memory",
        )
    most = need.tokens(room) * training.accumulate * machine.processes
    raise ConfigError(
        f"training.batch_tokens={training.batch_tokens} needs about {need.bytes(tokens) / GIB:.0f} GiB, "
        f"and {has}",
        hint=f"set training.accumulate={parts}: the same update in {parts} parts; "
        f"or training.batch_tokens to {most // 1000 * 1000 or most} or less",
        code="out_of_memory",
    )


def refuse_longer_than_a_piece(config: RunConfig, machine: Machine) -> None:
    """A token budget that is smaller than one pair, for batches of a fixed size."""
    piece, needed = piece_tokens(config, machine), 2 * (config.data.max_length + 1)
    if config.training.batches != "packed" or piece >= needed:
        return
    times = config.training.accumulate * machine.processes
    raise ConfigError(
        f"training.batch_tokens={config.training.batch_tokens} leaves {piece} tokens for one pass, and a "
        f"pair of data.max_length={config.data.max_length} needs {needed}",
        hint=f"set training.batch_tokens to {needed * times} or more, "
        f"data.max_length to {max(1, piece // 2 - 1)} or less, or training.batches=sorted",
        code="cannot_learn",
    )
