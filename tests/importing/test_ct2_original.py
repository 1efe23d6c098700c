from pathlib import Path

import pytest
from tests.importing.conftest import Make
from tests.importing.ct2 import converted

from jumok.errors import ModelError
from jumok.importing.brought import BroughtFolder
from jumok.importing.ct2_original import Ct2Original
from jumok.importing.ct2_vocabulary import read_tokens


def test_scores_have_the_end_where_the_answer_has_it(brought: Make, tmp_path: Path) -> None:
    folder = BroughtFolder(converted(brought("marian"), tmp_path / "ct2"))
    tokens = read_tokens(folder, "source")
    original = Ct2Original(folder.path, tokens, tokens, {})
    end = tokens.index("</s>")
    whole = original.scores([5, 6, end], [-1, 7, 8, end])
    assert len(whole) == 3
    assert original.scores([5, 6, end], [-1, 7, 8]) == pytest.approx(whole[:2], abs=1e-5)
    adds = Ct2Original(folder.path, tokens, tokens, {"add_source_eos": True})
    given = original.scores([5, 6], [-1, 7])
    assert adds.scores([5, 6, end], [-1, 7]) == given != original.scores([5, 6, end], [-1, 7])
    assert original.logits([5], [7]) is None
    assert original.tokens(["a"]) is None
    (folder.path / "model.bin").write_bytes(b"no model")
    with pytest.raises(ModelError, match="ctranslate2 cannot open the model"):
        Ct2Original(folder.path, tokens, tokens, {})
