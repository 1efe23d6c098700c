"""How far it is from `jumok train` to the attention: few functions of ours that only hand on."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

import jumok
from jumok.backends import c_ops
from jumok.backends.native import NativeBackend
from jumok.backends.torch import TorchBackend
from jumok.cli.main import main
from jumok.training.updates import Updates
from tests.run.conftest import tiny_settings

HOME = Path(jumok.__file__).parent
MOST_FRAMES, MOST_CROSSINGS = 15, 2
Frames = list[str]


def own_place(frame: FrameType) -> str:
    """Where a frame of ours is, as `room/file.py function`; nothing for others'."""
    path = Path(frame.f_code.co_filename)
    inside = path.is_relative_to(HOME)
    return f"{path.relative_to(HOME).as_posix()} {frame.f_code.co_qualname}" if inside else ""


def stack_of(frame: FrameType | None) -> Frames:
    """Our own frames from the outermost in."""
    places = []
    while frame is not None:
        places.append(own_place(frame))
        frame = frame.f_back
    return [place for place in reversed(places) if place]


def train_by_command(arch: str, corpus: Path, *more: str) -> None:
    """Two updates by the command itself."""
    given = tiny_settings(arch, corpus) | {
        "training.max_steps": 2,
        "training.warmup": 1,
        "model.dropout": 0.0,
    }
    words = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    with pytest.raises(SystemExit) as stop:
        main(["train", "--device", "cpu", "--out", str(corpus / "run"), "-q", *words, *more])
    assert not stop.value.code


def spy(monkeypatch: pytest.MonkeyPatch, kind: type, name: str) -> list[Frames]:
    """The stacks in which a method is called during an update."""
    found: list[Frames] = []
    method: Callable[..., Any] = getattr(kind, name)

    def spied(*args: Any, **options: Any) -> Any:
        stack = stack_of(sys._getframe(1))
        if any("Updates.step" in place for place in stack):
            found.append([*stack, f"{kind.__name__}.{name}"])
        return method(*args, **options)

    monkeypatch.setattr(kind, name, spied)
    return found


@pytest.mark.parametrize(
    ("arch", "kind", "method"),
    [
        pytest.param(
            "transformer",
            NativeBackend,
            "attend",
            marks=pytest.mark.skipif(not c_ops.is_available(), reason="the C library is not built here"),
        ),
        ("transformer", TorchBackend, "attend_grid"),
        ("luong", TorchBackend, "weigh_grid"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_few_frames_lie_between_the_command_and_the_attention(  # noqa: PLR0913
    arch: str, kind: type, method: str, threads: int, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind is TorchBackend:
        monkeypatch.setattr("jumok.backends.choose.is_available", lambda: False)
    stacks = spy(monkeypatch, kind, method)
    before = torch.get_num_threads()
    words = (f"training.threads={threads}", "training.batch_tokens=3000")
    try:
        train_by_command(arch, corpus, *(word for setting in words for word in ("--set", setting)))
    finally:
        torch.set_num_threads(before)
    here = [stack for stack in stacks if stack[0].startswith("cli/main.py")]  # not those of other threads
    assert here
    longest = max(here, key=len)
    assert len(longest) <= MOST_FRAMES, "\n".join(longest)


def test_an_update_hardly_crosses_between_run_and_training(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls from one of the two rooms into the other while an update is made."""
    crossings: list[Frames] = []
    step = Updates.step

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_back is not None:
            rooms = [own_place(one).split("/")[0] for one in (frame.f_back, frame)]
            if sorted(rooms) == ["run", "training"]:
                crossings[-1].append(f"{own_place(frame.f_back)} -> {own_place(frame)}")

    def watched(self: Updates, *args: Any) -> Any:
        crossings.append(rooms_of(stack_of(sys._getframe(1))))
        sys.setprofile(watch)
        try:
            return step(self, *args)
        finally:
            sys.setprofile(None)

    monkeypatch.setattr(Updates, "step", watched)
    train_by_command("transformer", corpus)
    assert len(crossings) == 2
    for update in crossings:
        assert len(update) <= MOST_CROSSINGS, "\n".join(update)


def rooms_of(stack: Frames) -> Frames:
    """The places of a stack at which one room has called the other."""
    pairs = zip(stack, stack[1:], strict=False)
    return [
        f"{one} -> {other}"
        for one, other in pairs
        if sorted(place.split("/")[0] for place in (one, other)) == ["run", "training"]
    ]
