"""A model in words; whole cards are tested in tests/cli/test_inspect.py."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jumok.checkpoint.bundled import bundled
from jumok.cli.views.model import (
    card_view,
    cost_view,
    describe,
    growth,
    has_score,
    kinds_of,
    parents_of,
    shapes_text,
    shapes_view,
    spoken,
    work_text,
)
from jumok.config import (
    DataConfig,
    LuongConfig,
    ModelConfig,
    RnnConfig,
    RunConfig,
    TextConfig,
    TransformerConfig,
)
from jumok.errors import ConfigError, LimitError
from jumok.models.cost import forward_cost
from jumok.text.frame import PLAIN, Direction, Frame


def test_a_model_is_described_in_words() -> None:
    words = list(describe(TransformerConfig()))
    assert words[:4] == ["transformer", "6+6 layers", "width 512", "8 heads"]
    assert "post-norm" in words
    bare = list(describe(TransformerConfig(norm="none", residual=False, scaled=False)))
    assert set(bare) - set(words) == {"no norms", "no residuals", "scores not scaled"}
    assert "general score" in describe(LuongConfig())
    assert "encoder in one direction" in describe(RnnConfig())
    assert list(describe(RnnConfig(tied=False)))[-1] == "own output"


def test_the_card_of_a_bundled_model() -> None:
    view = card_view(bundled()["luong"])
    assert view.text.startswith("architecture  luong · gru cells · 1+1 layers · width 64")
    assert view.plain["shared_vocabulary"] is True
    assert view.line.startswith("luong ")


def test_a_score_needs_a_metric_and_a_number() -> None:
    assert has_score({"metric": "exact", "score": 99.0})
    assert not has_score({"metric": "exact", "score": None})
    assert not has_score({"score": 99.0})


def test_how_both_sides_are_cut() -> None:
    assert kinds_of(TextConfig()) == "bpe"
    assert kinds_of(TextConfig(kind="char", target_kind="word")) == "char → word"
    assert kinds_of(TextConfig(kind="char", target_kind="char", jamo=True)) == "char, Korean in letters"


def test_the_cost_of_a_bundled_model_is_the_same_by_formula_and_as_counted() -> None:
    view = cost_view(bundled()["transformer"], [10, 20])
    assert view.plain["parameters"]["predicted"] == view.plain["parameters"]["measured"] == int(view.line)
    assert [one["flops"] == one["measured_flops"] for one in view.plain["lengths"]] == [True, True]
    assert "so it grows with the square of the length" in view.text


def test_a_recurrent_model_has_nothing_that_grows_with_the_square() -> None:
    assert "all parts grow in proportion" in cost_view(bundled()["rnn"], [10, 100]).text


def test_a_share_too_small_to_be_seen_grows_all_the_same() -> None:
    costs = [forward_cost(TransformerConfig(), n, n, 32_000) for n in (1, 500)]
    assert growth(*costs).endswith("in proportion: it is 0.0 % at 1 and 13.2 % at 500 tokens.")
    assert growth(costs[1], costs[1]).endswith("in proportion: it is 13.2 % at 500 tokens.")


def test_layers_that_are_the_same_are_written_once() -> None:
    view = shapes_view(bundled()["transformer"], "5. März 2024", None, {})
    assert view.plain["target"] == "2024-03-05"
    assert "encoder layer 2  the same" in view.text.splitlines()
    assert view.line == "[B,S] int64 → [B,S,D] → … → [B,T,V] float32"


def test_a_text_and_its_translation_or_the_given_target() -> None:
    assert shapes_view(bundled()["luong"], " 5. März 2024 ", None, {}).plain["target"] == "2024-03-05"
    assert shapes_view(bundled()["luong"], "5. März 2024", "x", {}).plain["target"] == "x"
    with pytest.raises(ConfigError, match="the text is empty"):
        shapes_view(bundled()["luong"], " \n", None, {})


def test_a_text_that_is_too_long_is_refused_or_cut(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LimitError, match="text 1 has 300 tokens, and this model takes 96"):
        shapes_view(bundled()["luong"], "1 " * 300, None, {})
    assert shapes_view(bundled()["luong"], "1 " * 300, "x", {}).plain["sizes"]["S"] == 97
    assert capsys.readouterr().err == "warning: source cut from 300 to 96 tokens\n"


def test_the_models_that_it_was_started_from_are_named() -> None:
    parents = [{"name": "runs/de-en", "sha256": "ab" * 32}, 5, {"name": "demo/rnn"}]
    assert parents_of({"descends_from": parents}) == "runs/de-en (abababababab…), demo/rnn (None…)"
    assert parents_of({"descends_from": "x"}) == parents_of({}) == ""


RICH = TransformerConfig(
    encoder_layers=3, decoder_layers=2, head_width=16, activation="silu", gated=True, rms_norm=True,
    norm="pre", embedding_norm=True, embedding_scaled=False, logits_bias=True, positions="none",
)  # fmt: skip


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            RICH,
            "transformer · 3+2 layers · width 512 · 8 heads of 16 · feed-forward 2,048 (SiLU, gated) · "
            "pre-RMS norm · normed embeddings · embeddings not scaled · no positions · tied output · "
            "bias of the logits",
        ),
        (
            TransformerConfig(activation="gelu_tanh", feedforward=64, tied=False),
            "transformer · 6+6 layers · width 512 · 8 heads · feed-forward 64 (GELU by tanh) · "
            "post-norm · sinusoidal positions · own output",
        ),
        (
            TransformerConfig(feedforward=64, gated=True),
            "transformer · 6+6 layers · width 512 · 8 heads · feed-forward 64 (ReLU, gated) · "
            "post-norm · sinusoidal positions · tied output",
        ),
        (
            RnnConfig(width=16, layers=2, cell="lstm"),
            "rnn · lstm cells · 2+2 layers · width 16 · encoder in one direction · tied output",
        ),
        (
            LuongConfig(width=16, score="dot", input_feeding=True),
            "luong · gru cells · 1+1 layers · width 16 · encoder in both directions · dot score · "
            "input feeding · tied output",
        ),
    ],
)
def test_every_setting_that_differs_has_its_words(config: ModelConfig, words: str) -> None:
    assert " · ".join(describe(config)) == words


def test_a_model_of_another_architecture_has_its_layers_and_width() -> None:
    other: Any = SimpleNamespace(arch="convolution", depths=(3, 2), width=16, tied=False)
    assert list(describe(other)) == ["convolution", "3+2 layers", "width 16", "own output"]


def contents(folder: Path, data: DataConfig, info: dict[str, Any], **tokenizers: Any) -> Any:
    """A model folder of which only the card is read."""
    config = RunConfig(model=RnnConfig(width=16), data=data, text=TextConfig(kind="char"))
    sizes = {"source": SimpleNamespace(size=12_000), "target": SimpleNamespace(size=8_500)}
    both = SimpleNamespace(**sizes | {"shared": False, "pictures": None, "frame": PLAIN} | tokenizers)
    return SimpleNamespace(contents=SimpleNamespace(info=info, config=config, tokenizers=both, folder=folder))


def test_the_whole_card_and_what_it_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x" * 1500)
    info: dict[str, Any] = {"parameters": 12_345, "fingerprint": "ab" * 32}
    more = {
        "weights": "int8",
        "step": 12_000,
        "metric": "bleu",
        "score": 31.256,
        "descends_from": [{"name": "x"}],
    }
    data = DataConfig(source="a.de", target="a.en", source_language="de", target_language="en")
    monkeypatch.setattr("jumok.cli.views.model.open_engine", lambda *_: contents(tmp_path, data, info | more))
    view = card_view(tmp_path)
    head = "architecture  rnn · gru cells · 1+1 layers · width 16 · encoder in one direction · tied output"
    assert view.text.splitlines() == [
        head,
        "parameters    12,345",
        "weights       int8",
        "vocabulary    12,000 source and 8,500 target tokens (char)",
        "languages     de → en",
        "data          a.de → a.en",
        "training      step 12,000",
        "score         bleu 31.26 in validation",
        "descends from x (None…)",
        f"fingerprint   {'ab' * 32}",
        f"folder        {tmp_path}  (1.50 kB)",
    ]
    assert view.line == f"rnn 12345 {'ab' * 32}"
    assert (view.plain["data"], view.plain["bytes"], "directions" in view.plain) == ("a.de", 1500, False)
    frame = Frame(languages=(("de", ""), ("en", "")), pairs=(Direction("de", "en"), Direction("en", "de")))
    pictures = SimpleNamespace(places=49)
    several = DataConfig(corpora=("a.tsv:de-en", "b.tsv:en-de"))
    monkeypatch.setattr(
        "jumok.cli.views.model.open_engine",
        lambda *_: contents(tmp_path, several, info, frame=frame, pictures=pictures),
    )
    view = card_view(tmp_path)
    assert view.text.splitlines() == [
        head,
        "parameters    12,345",
        "vocabulary    49 patches of a picture, 8,500 target tokens (char)",
        "languages     de→en, en→de",
        "data          a.tsv:de-en, b.tsv:en-de",
        f"fingerprint   {'ab' * 32}",
        f"folder        {tmp_path}  (1.50 kB)",
    ]
    assert view.plain["directions"] == ["de→en", "en→de"]
    assert view.plain["data"] == ["a.tsv:de-en", "b.tsv:en-de"]


def test_every_language_into_every_other_in_words() -> None:
    assert spoken(PLAIN) == ""
    assert spoken(Frame(languages=(("de", ""), ("en", "")))) == "de, en, each into every other"


COST = """\
parameters    by formula
embedding     V·D                         51,200
attention     (N_e + 2N_d)·4(D² + D)      99,840
feed-forward  (N_e + N_d)·(2DF + F + D)   66,304
norms         (2N_e + 3N_d)·2D             1,280
output        tied                             0
together      874 kB in float32          218,624
counted       in the model's tensors     218,624

One forward pass over S source and T target tokens in float32: FLOPs by formula and as counted
by torch (up to 100 tokens); bytes kept by training, and by decoding for one hypothesis.

S = T  projections  attention  feed-forward  output   FLOPs  counted  training  decoding
   10       1.97 M      154 k        1.31 M  1.02 M  4.45 M   4.45 M    149 kB   20.5 kB
1,000        197 M     1.54 G         131 M   102 M  1.97 G             110 MB   2.05 MB

projections   8·N_e·S·D² + 12·N_d·T·D² + 4·N_d·S·D²
attention     4·D·(N_e·S² + N_d·T² + N_d·T·S)
feed-forward  4·D·F·(N_e·S + N_d·T)
output        2·T·D·V

Attention compares every token with every other, so it grows with the square of the length and
everything else in proportion: it is 3.4 % at 10 and 78.1 % at 1,000 tokens."""


def test_the_whole_cost_of_a_bundled_model() -> None:
    """Two layers on each side, D = 64, F = 128, V = 800; attention is 4·64·6·S² operations."""
    view = cost_view(bundled()["transformer"], [10, 1000])
    assert view.text == COST
    assert view.plain["weight_bytes"] == 4 * 218_624
    at_limit = cost_view(bundled()["rnn"], [100, 101]).plain["lengths"]
    assert [one["measured_flops"] is None for one in at_limit] == [False, True]


def test_a_table_of_sentences_whose_sides_differ_is_headed_by_the_target() -> None:
    costs = [forward_cost(RnnConfig(width=8), S, T, 100) for S, T in ((4, 5), (5, 5))]
    assert work_text(costs, [None, 950]).splitlines()[0].split()[0] == "T"
    assert work_text(costs[1:], [950]).splitlines()[1].split()[:1] == ["5"]


def test_a_table_of_shapes_says_how_often_and_joins_what_repeats_the_one_before() -> None:
    made = {"axes": "[B,T]", "shape": (1, 5), "dtype": "int64"}
    rows = [
        SimpleNamespace(stage=stage, operation=operation, **made | more)
        for stage, operation, more in (
            ("layer 1", "one", {}),
            ("layer 1", "two", {"dtype": "float32"}),
            ("layer 2", "one", {}),
            ("layer 2", "two", {"dtype": "float32"}),
            ("layer 3", "one", {}),
            ("end", "loss", {"axes": "[]", "shape": ()}),
        )
    ]
    trace: Any = SimpleNamespace(rows=rows, times=[1, 5, 1, 5, 2, 1], sizes={"B": 1, "T": 5}, path="a → b")
    assert (
        shapes_text(trace)
        == """\
a → b
B=1  T=5

stage    operation  axes   shape       dtype
layer 1  one        [B,T]  1 × 5       int64
         two        [B,T]  1 × 5       float32  5 steps
layer 2  the same
layer 3  one        [B,T]  1 × 5       int64    2 steps
end      loss       []     one number  int64"""
    )
