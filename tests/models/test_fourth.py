"""A fourth model, made by the recipe in CONTRIBUTING: the laws hold for it, and nothing else need know it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.models.conftest import Bench
from tests.models.fourth import CnnSeq2Seq
from tests.models.fourth_config import CnnConfig

# The laws, with the fixtures of this file
from tests.models.test_interface import (  # noqa: F401
    test_a_state_is_a_value_that_can_be_stepped_again,
    test_another_back_end_has_the_very_same_weights,
    test_batch_mates_never_change_the_logits,
    test_changing_a_token_changes_no_logit_before_it,
    test_changing_a_token_changes_the_logits_from_it_on,
    test_dropout_acts_in_training_and_never_in_eval_mode,
    test_every_parameter_receives_a_finite_non_zero_gradient,
    test_explain_gives_one_cross_attention_map_per_layer,
    test_fillers_in_a_fixed_room_change_no_logit,
    test_forward_is_decode_after_encode,
    test_recording_changes_no_logit,
    test_selecting_rows_before_or_after_a_step_is_the_same,
    test_selecting_sentences_of_the_memory_equals_encoding_those,
    test_step_by_step_equals_all_at_once,
    test_two_explanations_never_see_each_other,
)

import jumok

SMALL: dict[str, Any] = {"width": 8, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
some_configs = st.builds(
    CnnConfig,
    encoder_layers=st.integers(1, 3),
    decoder_layers=st.integers(1, 3),
    width=st.sampled_from([2, 8]),
    window=st.integers(1, 4),
    tied=st.booleans(),
)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(any_config=some_configs, build=CnnSeq2Seq)  # type: ignore[arg-type]


@pytest.fixture
def config() -> CnnConfig:
    return CnnConfig(**SMALL)


HERE, PACKAGE = Path(__file__).parent, Path(jumok.__file__).parent


def added(text: str, *changes: tuple[str, str]) -> str:
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with the model added, in the three places that CONTRIBUTING names and nowhere else."""
    root = tmp_path_factory.mktemp("tree")
    copy = root / "jumok"
    (copy / "models").mkdir(parents=True)
    for folder, left_out in ((".", {"architectures.py", "models"}), ("models", {"build.py"})):
        for path in (PACKAGE / folder).iterdir():
            if path.name not in left_out | {"__pycache__"}:
                (copy / folder / path.name).symlink_to(path)
    config = (HERE / "fourth_config.py").read_text(encoding="utf-8")
    union = "ModelConfig = RnnConfig | LuongConfig | TransformerConfig"
    settings = added(
        (PACKAGE / "architectures.py").read_text(encoding="utf-8"),
        ('"luong", "transformer"]', '"luong", "transformer", "cnn"]'),
        ('"luong", "transformer")', '"luong", "transformer", "cnn")'),
        (f"{union}\n", f"{config[config.index('@dataclass') :]}\n\n{union} | CnnConfig\n"),
    )
    (copy / "architectures.py").write_text(settings, encoding="utf-8")
    model = added(
        (HERE / "fourth.py").read_text(encoding="utf-8"),
        ("tests.models.fourth_config", "jumok.architectures"),
    )
    (copy / "models" / "cnn.py").write_text(model, encoding="utf-8")
    imports = "from jumok.architectures import CnnConfig\nfrom jumok.models.cnn import CnnSeq2Seq\n"
    made = "return CnnSeq2Seq(config, source_vocab, target_vocab, shared=shared)"
    built = added(
        (PACKAGE / "models" / "build.py").read_text(encoding="utf-8"),
        ("from jumok.models.interface", f"{imports}from jumok.models.interface"),
        ("        case _:\n", f"        case CnnConfig():\n            {made}\n        case _:\n"),
    )
    (copy / "models" / "build.py").write_text(built, encoding="utf-8")
    return root


def live(tree: Path, folder: Path, device: str) -> None:
    paths = os.pathsep.join([str(tree), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "fourth_story.py"), device]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=400
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_it_is_trained_resumed_searched_evaluated_traced_and_served(tree: Path, tmp_path: Path) -> None:
    live(tree, tmp_path, "cpu")


@pytest.mark.gpu
def test_the_same_on_a_gpu(tree: Path, tmp_path: Path) -> None:
    live(tree, tmp_path, "cuda")
