import numpy as np
import torch

from jumok.architectures import TransformerConfig
from jumok.importing.blueprint import alternating, reordered
from jumok.importing.stored import ready
from jumok.models.build import build_model
from jumok.models.sentences import Sentences


def test_another_order_of_the_width_changes_no_logit() -> None:
    config = TransformerConfig(
        encoder_layers=1, decoder_layers=1, width=8, heads=2, feedforward=12, norm="pre", positions="learned",
        max_positions=6, embedding_norm=True, gated=True, logits_bias=True, tied=False, dropout=0.0,
    )  # fmt: skip
    torch.manual_seed(1)
    model = build_model(config, 270, 270, shared=True).eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    cpu = torch.device("cpu")
    source, target = Sentences.lay([[5, 6, 2]], cpu), Sentences.lay([[0, 7, 8]], cpu)
    before = model.decode(target, model.encode(source)).logits()
    given = {name: ready(tensor.numpy()) for name, tensor in model.state_dict().items()}
    moved = reordered(given, alternating(8))
    model.load_state_dict({name: torch.from_numpy(made.make()) for name, made in moved.items()})
    assert torch.allclose(model.decode(target, model.encode(source)).logits(), before, atol=1e-5)
    assert not np.array_equal(moved["encoder_norm.weight"].make(), given["encoder_norm.weight"].make())


def test_sines_and_cosines_alternate() -> None:
    assert alternating(6).tolist() == [0, 3, 1, 4, 2, 5]
