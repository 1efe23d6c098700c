"""The shapes of documents over HTTP: strict where a client writes, complete where the server answers."""

import pytest
from pydantic import ValidationError

from jumok.server.documents.schema import LONGEST, SegmentEdit


def test_an_edit_is_one_text() -> None:
    assert SegmentEdit(target="").target == ""
    assert len(SegmentEdit(target="x" * LONGEST).target) == LONGEST
    for wrong in (
        {},
        {"target": None},
        {"target": 1},
        {"target": "x", "source": "y"},
        {"target": "x" * (LONGEST + 1)},
    ):
        with pytest.raises(ValidationError, match="SegmentEdit"):
            SegmentEdit.model_validate(wrong)
