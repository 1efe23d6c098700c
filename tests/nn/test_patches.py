"""The patch embedding: the formula by hand, and every weight learns."""

import torch
from torch import Tensor

from jumok.nn.layers import Embedding
from jumok.nn.patches import PatchEmbedding, Patches, read_source


def draw(count: int, numbers: int) -> Tensor:
    return torch.randint(0, 256, (count, numbers), dtype=torch.uint8)


def test_a_patch_becomes_a_vector_by_the_formula() -> None:
    embedding, patches = PatchEmbedding(numbers=12, places=4, width=6), draw(8, 12)
    places = torch.arange(4).repeat(2)  # two pictures
    W, b = embedding.project.weight, embedding.project.bias
    for found, patch, place in zip(embedding(patches, places), patches, places, strict=True):
        expected = W @ (patch.float() / 127.5 - 1) + b + embedding.positions[place]
        torch.testing.assert_close(found, expected)


def test_positions_can_be_others_or_none() -> None:
    embedding, patches = PatchEmbedding(3, 4, 5), draw(4, 3)
    bare = embedding(patches, None)
    turned = torch.tensor([3, 2, 1, 0])
    torch.testing.assert_close(embedding(patches, turned), bare + embedding.positions[turned])
    beyond = embedding(patches, torch.arange(4) + 9)  # the last place stands for all behind it
    torch.testing.assert_close(beyond, bare + embedding.positions[3])
    nowhere = PatchEmbedding(3, 4, 5, located=False)
    torch.testing.assert_close(nowhere(patches, turned), nowhere(patches, None))


def test_every_weight_gets_a_gradient() -> None:
    embedding = PatchEmbedding(3, 4, 5)
    embedding(draw(4, 3), torch.arange(4)).square().sum().backward()
    for name, parameter in embedding.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_a_source_is_read_as_words_or_as_patches() -> None:
    words = read_source(10, 4, None, scale=2.0)
    assert isinstance(words, Embedding)
    assert words.scale == 2
    assert isinstance(read_source(0, 4, Patches(12, 9)), PatchEmbedding)
