"""Weights shared out over processes, and plain tensors, which stay as they are."""

from pathlib import Path

import torch
from tests.run.processes import together

from jumok.config import TrainingConfig, TransformerConfig
from jumok.models.build import build_model
from jumok.training.distributed import join
from jumok.training.optimizer import Optimizers
from jumok.training.shard import fill, gathered, is_shared, reduce_whole, shard, shared_as, whole
from jumok.training.state import Average, Learner

SMALL = TransformerConfig(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1)


def test_a_plain_tensor_stays_as_it_is() -> None:
    tensor, value = torch.zeros(2), torch.ones(2)
    assert not is_shared(tensor)
    assert whole(tensor) is gathered(tensor) is tensor
    assert shared_as(tensor, value) is value
    fill(tensor, value)
    assert tensor.tolist() == [1, 1]
    seen: list[torch.Tensor] = []
    reduce_whole(seen.extend)([tensor, value])
    assert seen == [tensor, value]


def share_out(folder: str) -> None:
    """What each of two processes does with a model that both know; a file says that it went well."""
    with join("cpu") as world:
        torch.manual_seed(1)
        plain = build_model(SMALL, 12, 12, shared=True)
        expected = {name: p.detach() for name, p in plain.named_parameters()}
        torch.manual_seed(1)
        model = build_model(SMALL, 12, 12, shared=True)
        shard(model, "cpu", world.size)
        learner = Learner(model, Optimizers(model, TrainingConfig()), Average(model, 0.5))
        for name, part in learner.weights.items():
            assert is_shared(part), name
            assert part.to_local().numel() < expected[name].numel() or expected[name].shape[0] < world.size  # type: ignore[attr-defined]
            assert torch.equal(gathered(part), expected[name])
        tensors = learner.model_tensors()
        for name, value in tensors.items():
            assert torch.equal(value, expected[name]) if world.is_first else value.numel() == 0
        twice = {name: 2 * value for name, value in expected.items()}
        learner.load(twice, {f"exp_avg/{name}": 3 * value for name, value in expected.items()})
        memory = learner.optimizers.tensors()
        for name, value in expected.items():
            assert torch.equal(gathered(learner.weights[name]), 2 * value)
            assert torch.equal(gathered(memory[f"exp_avg/{name}"]), 3 * value)
        seen: list[torch.Tensor] = []
        reduce_whole(seen.extend)([*learner.weights.values(), torch.ones(1)])
        assert len(seen) == 1  # what is shared out is added up already
    Path(folder, str(world.rank)).touch()


def test_two_processes_hold_a_part_each_and_give_the_whole_back(tmp_path: Path) -> None:
    assert together(2, share_out, str(tmp_path)) == [0, 0]
    assert {file.name for file in tmp_path.iterdir()} == {"0", "1"}
