"""Modules that take seconds to load and are needed at the first step: loaded while the data is prepared."""

from importlib import import_module
from importlib.util import find_spec
from threading import Thread

OPTIMIZER = "torch._dynamo"  # every optimiser of torch asks for it
LOG = "torch.utils.tensorboard"


def load_meanwhile() -> Thread:
    """Load them in a thread. Preparing data leaves Python idle: libraries learn and cut the tokens."""
    thread = Thread(target=load, name="jumok-warm")
    thread.start()
    return thread


def load() -> None:
    import_module(OPTIMIZER)
    if find_spec("tensorboard") is not None:
        import_module(LOG)
