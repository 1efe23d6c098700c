"""A translator under watch gives the same numbers, and stops when told."""

import pytest
import torch
from tests.explain.conftest import MODELS, Workshop

from jumok.errors import LimitError
from jumok.explain.influence import sweep
from jumok.explain.ops import bridge, mask_head
from jumok.explain.trace import make_trace
from jumok.explain.watched import watched


class Stop(Exception):  # noqa: N818
    """Enough."""


@pytest.mark.parametrize("arch", MODELS)
def test_answers_and_numbers_are_those_of_the_model_itself(workshop: Workshop, arch: str) -> None:
    plain = workshop.translator(arch)
    looks = []
    with watched(plain, lambda: looks.append(1), 64) as own:
        assert own.translate("a man rides", beam=2) == plain.translate("a man rides", beam=2)
        op = bridge("zero") if arch == "rnn" else mask_head("cross", 0, 0)
        edited, expected = (make_trace(one, "a man", ops=[op]) for one in (own, plain))
        assert edited.manifest["steps"] == expected.manifest["steps"]
        assert edited.id == expected.id
    assert len(looks) > 3
    rows, count = own.model.position_rows(4), len(looks)
    assert (rows is None) == (arch != "transformer")
    for kind in edited.manifest["attention"]:  # the trace goes on to work, and nobody looks any more
        assert torch.equal(
            torch.tensor(edited.tensor(f"{kind}.scores")), torch.tensor(expected.tensor(f"{kind}.scores"))
        )
    assert len(looks) == count


def test_looking_ends_the_work_within_a_search_and_between_passes(workshop: Workshop) -> None:
    left = 0

    def look() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Stop

    with watched(workshop.translator("transformer"), look, 64) as own:
        left = 3
        with pytest.raises(Stop):
            own.translate("a man rides a horse", min_len=10)
        left = 5
        rows = []
        with pytest.raises(Stop):
            rows += sweep(own, "a man", "a dog")
        assert rows == []


@pytest.mark.parametrize("arch", MODELS)
def test_more_tokens_than_are_taken_are_refused_with_the_numbers(workshop: Workshop, arch: str) -> None:
    with watched(workshop.translator(arch), lambda: None, 6) as own:
        at = "a " * 4 + "a"
        assert make_trace(own, at, target=at).manifest["decode"]["finished"]
        for text, target, side in ((at + " a", at, "source"), (at, at + " a", "target")):
            with pytest.raises(
                LimitError, match=f"the {side} has 7 tokens, its end included, and 6 x 6"
            ) as e:
                make_trace(own, text, target=target)
            assert e.value.code == "too_long"
