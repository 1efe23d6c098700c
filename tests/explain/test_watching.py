"""The watched model: it looks before each pass, and a copy on another back end goes on looking."""

import pytest
import torch
from tests.explain.conftest import Workshop

from jumok.backends.recording import RecordingBackend
from jumok.decoding.batched import device_of, lay_sources
from jumok.errors import LimitError
from jumok.explain.watching import Watched


def test_every_pass_is_looked_at_and_counted(workshop: Workshop) -> None:
    model, seen = workshop.translator("rnn").model, []
    own = Watched(model, [lambda: seen.append(1)], 3).using(RecordingBackend())
    short, long = (lay_sources([[5] * n], device_of(model)) for n in (2, 3))
    own.encode(short)
    assert seen == [1]
    memory = model.encode(short)
    token, state = torch.zeros(1, dtype=torch.int64), own.start(memory)
    torch.testing.assert_close(own.step(token, state)[0], model.step(token, state)[0])
    found, expected = (one.decode(short, memory).logits() for one in (own, model))
    torch.testing.assert_close(found, expected)
    assert seen == [1, 1, 1]
    with pytest.raises(LimitError, match="the target has 4 tokens"):
        own.decode(long, memory)

    with pytest.raises(LimitError, match="the source has 4 tokens"):
        own.encode(long)
    assert (own.training, Watched(model.train(), [], 3).training) == (False, True)
