"""What may be asked of training."""

import pytest
from pydantic import ValidationError

from jumok.server.gates.bounds import within
from jumok.server.gates.limits import Limits
from jumok.server.trainer.schema import TrainingAction, TrainingRequest


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"name": "../x"}, "String should match pattern"),
        ({"name": "a" * 41}, "String should match pattern"),
        ({"arch": "cnn"}, "Input should be 'rnn', 'luong' or 'transformer'"),
        ({"seconds": 4}, "Input should be greater than or equal to 5"),
        ({"seconds": 61}, "Input should be less than or equal to 60"),
        ({"source_language": "de; rm"}, "String should match pattern"),
        ({"pairs": "a\tb" * 10}, "String should have at most 20 characters"),
        ({"steps": 4}, "Extra inputs are not permitted"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, object], told: str) -> None:
    with within(Limits(training_s=60.0, training_bytes=20)), pytest.raises(ValidationError, match=told):
        TrainingRequest(**{"pairs": "a\tb", **asked})  # type: ignore[arg-type]


def test_there_are_three_things_to_do_with_a_run() -> None:
    assert TrainingAction(action="pause").action == "pause"
    with pytest.raises(ValidationError, match="Input should be 'pause', 'resume' or 'stop'"):
        TrainingAction(action="end")  # type: ignore[arg-type]
