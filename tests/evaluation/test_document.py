"""The type of an evaluation is what evaluations write, now and before."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
from pydantic import ValidationError

from jumok.evaluation.document import EvalDocument
from jumok.evaluation.evaluate import score_texts

OLD = Path(__file__).parents[1] / "fixtures" / "run-0.1"
TEXTS = [f"the cat number {i} sat" for i in range(40)]


@pytest.mark.parametrize("references", [TEXTS, [(text, "a dog") for text in TEXTS]])
def test_what_is_written_keeps_to_it(references: list[str]) -> None:
    document = score_texts(TEXTS, references, TEXTS, name="mine", data="cats", bootstrap=20).to_dict()
    EvalDocument.model_validate(document)
    schema = EvalDocument.model_json_schema()
    jsonschema_rs.validator_for(schema).validate(document)
    assert set(document) == set(schema["properties"])


@pytest.mark.parametrize("run", ["transformer", "luong"])
def test_files_of_version_0_1_keep_to_it(run: str) -> None:
    document = json.loads((OLD / run / "eval" / "valid.json").read_text(encoding="utf-8"))
    found = EvalDocument.model_validate(document).model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert found == document


def test_anything_else_is_refused() -> None:
    small = {"schema": "eval/1", "model": "m", "data": {"name": "cats", "n": 12}, "metrics": {}}
    EvalDocument.model_validate(small)
    for wrong in ({"schema": "eval/2"}, {"data": {"name": "cats", "n": "12"}}, {"metrics": {"bleu": 3}}):
        with pytest.raises(ValidationError):
            EvalDocument.model_validate({**small, **wrong})
