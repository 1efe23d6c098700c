"""A module that takes seconds to load and is needed at the first step: loaded while the data is prepared."""

from importlib import import_module
from importlib.util import find_spec
from threading import Thread

LOG = "torch.utils.tensorboard"


def load_meanwhile() -> Thread:
    """Load it in a thread. Preparing data leaves Python idle: libraries learn and cut the tokens."""
    thread = Thread(target=load, name="jumok-warm")
    thread.start()
    return thread


def load() -> None:
    if find_spec("tensorboard") is not None:
        import_module(LOG)
