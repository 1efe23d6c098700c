"""What a run computes with: its model and optimisers, their precision and threads; and what cannot work."""

from collections.abc import Mapping
from functools import cache

import torch
from torch import Tensor

from jumok.backends.c_ops import is_available
from jumok.backends.choose import choose_backend
from jumok.checkpoint.checkpoints import Checkpoint
from jumok.checkpoint.model import build_for
from jumok.config import RunConfig
from jumok.errors import ConfigError, DataError
from jumok.models.interface import Seq2Seq
from jumok.run.machine import Machine
from jumok.run.prepare import Prepared
from jumok.run.start import table_side
from jumok.training.distributed import World, told_to_all
from jumok.training.frozen import freeze, is_frozen
from jumok.training.lora import Adapters
from jumok.training.optimizer import Optimizers, is_hidden_matrix
from jumok.training.shard import shard
from jumok.training.state import Average, Learner
from jumok.training.updates import packs


def make_model(config: RunConfig, prepared: Prepared) -> Seq2Seq:
    """Fresh weights from the seed."""
    torch.manual_seed(config.seed)
    return build_for(config.model, prepared.tokenizers)


def make_learner(
    config: RunConfig,
    prepared: Prepared,
    device: str | torch.device,
    newest: Checkpoint | None,
    world: World | None = None,
    start: Mapping[str, Tensor] | None = None,
) -> Learner:
    """Fresh weights from the seed or those of the `start`, or everything as the newest checkpoint has it."""
    model = make_model(config, prepared)
    if start is not None:
        model.load_state_dict(start, strict=False)  # tied weights are there under one name
    freeze(model, config.training.frozen_parts)
    if config.training.shard and world is not None:
        shard(model, str(device), world.size)
    model = model.to(device)
    place, training = torch.device(device), config.training
    # The kernels are for steps that are captured: else it is plain torch.
    if not training.shard and (place.type != "cuda" or packs(config, place)):
        model.ops = choose_backend(place, precision=training.precision)
    adapters = make_adapters(model, config)
    average = Average(model, config.training.ema) if config.training.ema else None
    learner = Learner(model, Optimizers(model, config.training, adapters), average)
    if newest is not None:
        learner.load(newest.tensors(), newest.optimizer())
    return learner


def make_adapters(model: Seq2Seq, config: RunConfig) -> Adapters | None:
    """Adapters beside the matrices of attention and feed-forward networks, where they alone are to learn.

    A vocabulary that has grown has rows that nothing has taught yet: its tables then learn, too.
    """
    if not config.training.lora:
        return None
    grown = config.start.extend_vocabulary > 0
    return Adapters(
        model,
        config.training.lora,
        seed=config.seed,
        adapts=is_hidden_matrix,
        learns=lambda name: (
            grown and table_side(name) != "" and not is_frozen(name, config.training.frozen_parts)
        ),
    )


def check_possible(config: RunConfig, machine: Machine, world: World) -> None:
    """Refuse settings that this machine, or this number of processes, cannot do."""
    precision(config, machine)
    packed = packs(config, torch.device(machine.device))
    captured = config.model.arch == "transformer" and packed and not config.training.rollout
    if config.training.precision == "fp8" and not captured:
        raise ConfigError(
            "training.precision=fp8 is for a Transformer with packed batches and without rollout",
            hint="leave training.batches, shard and rollout as they come, or set training.precision=bf16",
        )
    if config.training.shard and world.size == 1:
        raise ConfigError(
            "training.shard=true shares the weights out over processes, and there is one",
            hint="start several with `torchrun --nproc-per-node N -m jumok train …`, or leave it out",
        )
    if config.training.shard and config.training.lora:
        raise ConfigError(
            f"training.lora={config.training.lora} and training.shard=true exclude each other",
            hint="leave training.shard out: adapters take so little memory that nothing need be shared out",
        )
    if config.training.shard and config.training.optimizer == "sgd":
        raise ConfigError(
            "training.optimizer=sgd and training.shard=true exclude each other: torch's cannot share out",
            hint="choose adamw, adam or muon",
        )


def check_same_data(world: World, prepared: Prepared) -> None:
    """Refuse to go on when the processes read different data: folders that machines do not share."""
    if world.size == 1:
        return  # and need not wait for its variants
    stores = (prepared.valid, *prepared.stores)
    first, *others = world.gather([store.fingerprint for store in stores])
    for rank, theirs in enumerate(others, start=1):
        if theirs != first:
            error = DataError(
                f"process {rank} of {world.size} has prepared other data than process 0",
                where=str(prepared.train.folder.parent),
                hint="every process must see the same run folder: machines must share it",
                code="other_data",
            )
            raise told_to_all(error)


def lacks_bf16(config: RunConfig, machine: Machine) -> bool:
    """Whether a GPU will compute in fp32 only because it knows no bf16."""
    return machine.device.startswith("cuda") and not machine.bf16 and config.training.precision != "fp32"


def precision(config: RunConfig, machine: Machine) -> torch.dtype | None:
    """The type for torch to compute in besides float32, if any; for auto, see `plan.choose_precision`."""
    wanted = config.training.precision
    if wanted == "bf16" and lacks_bf16(config, machine):
        raise ConfigError(
            f"training.precision=bf16 cannot work: {machine.name} does not compute bf16",
            hint="leave it at auto, or set training.precision=fp32",
            code="no_bf16",
        )
    if wanted == "fp8" and not machine.fp8:
        raise ConfigError(
            f"training.precision=fp8 cannot work: {machine.name} does not have it",
            hint="it needs an NVIDIA GPU of compute capability 9.0 or newer, such as an H100 or H200; "
            "leave training.precision at auto",
            code="no_fp8",
        )
    if wanted == "bf16" and not machine.gpu and (config.training.shard or not is_available()):
        raise ConfigError(  # torch could, but keeps code for every shape it meets: memory grows without end
            "training.precision=bf16 cannot work: on a CPU jumok's C library computes it, "
            + ("and it does not shard" if config.training.shard else "which is not there"),
            hint="set training.precision=fp32"
            + ("" if config.training.shard else ", or build the library: python -m jumok.native.build"),
            code="no_bf16",
        )
    return torch.bfloat16 if wanted != "fp32" and machine.bf16 and machine.gpu else None


@cache
def _default_threads() -> int:
    return torch.get_num_threads()


def tune_torch(config: RunConfig) -> None:
    torch.set_num_threads(config.training.threads or _default_threads())
    # cuDNN's attention makes a plan for each new shape, 0.4 s each, and sorted batches have many shapes.
    torch.backends.cuda.enable_cudnn_sdp(enabled=False)
