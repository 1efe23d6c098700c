from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.importing.conftest import Make
from tests.importing.ct2 import converted, without_end

import jumok
from jumok.checkpoint.contents import read_contents
from jumok.errors import ModelError
from jumok.importing.ct2_folder import Ct2Parts, ct2_config, embedding, make_ct2_blueprint
from jumok.importing.model import import_model
from jumok.importing.stored import Stored
from jumok.text.frame import Frame


@pytest.mark.parametrize("quantization", [None, "float16", "int8", "int16"])
@pytest.mark.parametrize("family", ["marian", "t5", "mt5"])
def test_scores_are_those_of_ctranslate2(
    family: str, quantization: str | None, brought: Make, lines: Path, tmp_path: Path
) -> None:
    """Codes stand for the numbers that CTranslate2 takes them for when it computes in float32."""
    folder = converted(brought(family), tmp_path / "ct2", quantization)
    result = import_model(folder, tmp_path / "ours", source=lines)
    assert result["passed"]
    assert result["largest_score_difference"] < 1e-4
    assert result["compared_with"].startswith("ctranslate2 ")


def test_a_tokenizer_may_lie_elsewhere_and_must_lie_somewhere(brought: Make, tmp_path: Path) -> None:
    folder = converted(brought("marian"), tmp_path / "ct2")
    for name in ("source.spm", "target.spm"):
        (folder / name).unlink()
    with pytest.raises(ModelError, match="the folder has no tokenizer: spiece.model and .* are missing"):
        import_model(folder, tmp_path / "ours")
    import_model(folder, tmp_path / "ours", tokenizer=brought("marian"))
    assert jumok.load(tmp_path / "ours").translate("a term", beam=1).tokens


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of ours, written for CTranslate2."""
    folder = tmp_path_factory.mktemp("exported") / "ct2"
    jumok.export_model("demo/transformer", "ctranslate2", folder, sentences=3)
    return folder


def test_out_and_in_again_gives_the_same_answers(exported: Path, tmp_path: Path) -> None:
    texts = ["4. November 1942", "on May 2, 2001", "2020-01-01"]
    (tmp_path / "dates").write_text("\n".join(texts))
    result = import_model(exported, tmp_path / "ours", source=tmp_path / "dates")
    assert result["largest_score_difference"] < 1e-4  # the library itself adds the end of a source
    ours, before = jumok.load(tmp_path / "ours"), jumok.load("demo/transformer")
    again = ours.translate(texts, sentences="as-is")
    assert [one.text for one in again] == [one.text for one in before.translate(texts, sentences="as-is")]


def test_sources_without_an_end_are_read_as_ctranslate2_reads_them(
    exported: Path, lines: Path, tmp_path: Path
) -> None:
    import shutil

    folder = without_end(Path(shutil.copytree(exported, tmp_path / "ct2")))
    result = import_model(folder, tmp_path / "ours", source=lines)
    assert result["largest_score_difference"] < 1e-4
    assert read_contents(tmp_path / "ours").tokenizers.frame == Frame(source=("…",))
    answers = [
        [
            one.text
            for one in jumok.load(tmp_path / "ours", engine=engine).translate(["May 2, 2001", "1. 1. 2020"])
        ]
        for engine in ("torch", "native")
    ]
    assert answers[0] == answers[1]


def test_another_model_of_ctranslate2_is_refused(brought: Make, tmp_path: Path) -> None:
    folder = converted(brought("marian"), tmp_path / "ct2")
    path = folder / "model.bin"
    data = path.read_bytes().replace(b"TransformerSpec\0", b"WhisperSpecific\0", 1)
    path.write_bytes(data)
    with pytest.raises(ModelError, match="this is a WhisperSpecific of CTranslate2, no encoder-decoder"):
        import_model(folder, tmp_path / "ours")


def test_a_vocabulary_of_another_model_is_refused(brought: Make, tmp_path: Path) -> None:
    folder = converted(brought("marian"), tmp_path / "ct2")
    (folder / "shared_vocabulary.json").write_text('["</s>", "<unk>", "a"]')
    with pytest.raises(ModelError, match=r"the vocabulary has 3 tokens, and the model \d+ rows"):
        import_model(folder, tmp_path / "ours")


TABLE = "decoder/embeddings/weight"


def parts_of(path: Path, **numbers: object) -> Ct2Parts:
    """Variables of float32 by their names, `__` for a slash: a table (6, 8) of the decoder, and these."""
    arrays = {
        TABLE: np.zeros((6, 8)),
        **{name.replace("__", "/"): np.array(one) for name, one in numbers.items()},
    }
    stored, data = {}, b""
    for name, array in arrays.items():
        stored[name] = Stored(path, len(data), "F32", array.shape)
        data += array.astype("<f4").tobytes()
    path.write_bytes(data)
    return Ct2Parts(stored, "here", "model.bin")


@pytest.mark.parametrize(
    ("settings", "numbers"),
    [
        ({}, {"decoder__num_heads": 0}),
        ({}, {"decoder__num_heads": float("nan")}),
        ({}, {"decoder__num_heads": float("inf")}),
        ({}, {"decoder__num_heads": []}),
        ({}, {"decoder__num_heads": 9}),  # more than the width has numbers
        ({"layer_norm_epsilon": "x"}, {}),
        ({"layer_norm_epsilon": [1]}, {}),
        ({}, {"encoder__layer_0__ffn__linear_0__weight": 1.0}),
        ({}, {"decoder__position_encodings__encodings": 1.0}),
    ],
)
def test_variables_that_cannot_be_are_refused(
    settings: dict[str, object], numbers: dict[str, object], tmp_path: Path
) -> None:
    parts, none = parts_of(tmp_path / "model.bin", **numbers), cast(Any, None)
    with pytest.raises(ModelError, match="the variables or config.json are none of a Transformer"):
        make_ct2_blueprint(parts, settings, none, none, shared=True)


def test_parts_that_nothing_computes_are_refused(tmp_path: Path) -> None:
    for name, said in (
        (
            "decoder__layer_0__self_attention__rotary_dim",
            "the model has decoder/layer_0/self_attention/rotary_dim",
        ),
        ("encoder__alibi", "the model has encoder/alibi"),
        ("decoder__multi_query_attention", "the model has decoder/multi_query_attention"),
        ("decoder__activation", "the activation 9 of CTranslate2 is unknown"),
        ("decoder__scale_embeddings", "embeddings are multiplied by 9"),
    ):
        with pytest.raises(ModelError, match=f"^{said}"):
            ct2_config(parts_of(tmp_path / "model.bin", **{name: 9.0}), {})


def test_the_table_of_tokens_is_one_matrix(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    assert embedding(parts_of(path), "decoder") == TABLE
    both = parts_of(path, decoder__embeddings_0__weight=np.zeros((2, 3)))
    assert embedding(both, "decoder") == "decoder/embeddings_0/weight"
    for parts, side in (
        (parts_of(path), "encoder"),
        (parts_of(path, decoder__embeddings_1__weight=np.zeros((2, 3))), "decoder"),
        (parts_of(path, encoder__embeddings__weight=np.zeros(4)), "encoder"),
    ):
        with pytest.raises(ModelError, match=f"the {side} has no table of tokens, or several"):
            embedding(parts, side)


def test_settings_follow_from_the_variables(tmp_path: Path) -> None:
    """What is not said is what CTranslate2 takes."""
    least: dict[str, object] = {
        "encoder__layer_0__ffn__linear_0__weight": np.zeros((12, 8)),
        "decoder__layer_0__x": 0,
    }
    plain = ct2_config(parts_of(tmp_path / "plain", **least), {})
    assert (plain.heads, plain.norm, plain.rms_norm, plain.norm_epsilon) == (8, "pre", True, 1e-6)
    assert (plain.encoder_layers, plain.decoder_layers) == (1, 1)
    assert (plain.positions, plain.max_positions) == ("learned", 1024)
    assert (plain.activation, plain.gated, plain.embedding_scaled) == ("relu", False, True)
    assert ct2_config(parts_of(tmp_path / "plain", **least, decoder__num_heads=2), {}).scaled
    layer = "encoder__layer_0__self_attention"
    more: dict[str, object] = least | {
        "decoder__num_heads": 2,
        "decoder__pre_norm": 0,
        "decoder__activation": 2,
        "decoder__scale_embeddings": 8**0.5,
        f"{layer}__layer_norm__beta": np.zeros(8),
        f"{layer}__queries_scale": 1.0,
        f"{layer}__linear_0__weight": np.zeros((12, 8)),
        "encoder__layer_1__ffn__linear_0__weight": np.zeros((5, 8)),
        "encoder__layer_0__ffn__linear_0_noact__weight": np.zeros((12, 8)),
        "decoder__layer_norm__gamma": 0,
        "decoder__position_encodings__encodings": np.zeros((7, 8)),
        "encoder__layernorm_embedding__gamma": np.zeros(8),
    }
    found = ct2_config(parts_of(tmp_path / "more", **more), {"layer_norm_epsilon": 1e-3})
    assert (found.heads, found.norm, found.rms_norm, found.norm_epsilon) == (2, "post", False, 1e-3)
    assert (found.encoder_layers, found.decoder_layers, found.max_positions) == (2, 1, 7)
    assert (found.activation, found.gated, found.scaled, found.feedforward) == ("silu", True, False, 12)
    assert (found.embedding_scaled, found.embedding_norm, found.head_width, found.tied) == (
        True,
        True,
        2,
        False,
    )
