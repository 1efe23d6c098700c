from pathlib import Path

from jumok.cli.shared.memory import memory_for
from jumok.decoding.translator import load


def test_a_memory_is_read_in_the_direction_of_the_model(tmp_path: Path) -> None:
    path, model = tmp_path / "memory.tsv", load("demo/rnn")
    path.write_text("yesterday\t2024-03-05\n", encoding="utf-8")
    assert memory_for(model, "") == {}
    found = memory_for(model, str(path))["memory"].exact("yesterday")
    assert found is not None
    assert found.target == "2024-03-05"
