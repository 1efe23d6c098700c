from jumok.config import TransformerConfig
from jumok.native.structs import c_config


def test_a_config_as_the_library_gets_it() -> None:
    config = TransformerConfig(width=16, heads=4, feedforward=8, norm="pre", positions="rotary", scaled=False)
    shape = c_config(config, 5, 6)
    assert (shape.arch, shape.width, shape.heads, shape.norm, shape.positions) == (2, 16, 4, 1, 2)
    assert (shape.source_vocab, shape.target_vocab, shape.scaled, shape.residual) == (5, 6, 0, 1)
    assert shape.embedding_scale == 4.0
