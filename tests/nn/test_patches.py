"""The patch embedding: the formula by hand, and every weight learns."""

import torch

from jumok.nn.layers import Embedding
from jumok.nn.patches import PatchEmbedding, Patches, read_source


def test_a_patch_becomes_a_vector_by_the_formula() -> None:
    embedding = PatchEmbedding(numbers=12, places=4, width=6)
    patches = torch.randint(0, 256, (2, 4, 12), dtype=torch.uint8)
    W, b = embedding.project.weight, embedding.project.bias
    for n in range(2):
        for i in range(4):
            x = patches[n, i].float() / 127.5 - 1
            expected = W @ x + b + embedding.positions[i]
            torch.testing.assert_close(embedding(patches)[n, i], expected)


def test_positions_can_be_others_or_none() -> None:
    embedding = PatchEmbedding(3, 4, 5)
    patches = torch.randint(0, 256, (2, 4, 3), dtype=torch.uint8)
    bare = embedding(patches, bare=True)
    turned = torch.tensor([3, 2, 1, 0])
    torch.testing.assert_close(embedding(patches, turned), bare + embedding.positions[turned])
    torch.testing.assert_close(embedding(patches), embedding(patches, torch.arange(4).expand(2, 4)))
    beyond = embedding(patches, torch.arange(4) + 9)  # the last place stands for all behind it
    torch.testing.assert_close(beyond, bare + embedding.positions[3])


def test_every_weight_gets_a_gradient() -> None:
    embedding = PatchEmbedding(3, 4, 5)
    embedding(torch.randint(0, 256, (2, 4, 3), dtype=torch.uint8)).square().sum().backward()
    for name, parameter in embedding.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_a_source_is_read_as_words_or_as_patches() -> None:
    words = read_source(10, 4, None, scale=2.0)
    assert isinstance(words, Embedding)
    assert words.scale == 2
    assert isinstance(read_source(0, 4, Patches(12, 9)), PatchEmbedding)
