"""Many Python threads on one model, and a child that is forked once a model is loaded."""

import pytest
from tests.native.many_threads import check
from tests.processes import run_code

from jumok.native.library import available, why_not

pytestmark = pytest.mark.skipif(not available(), reason=why_not())

FORKED = """if True:
    import os, warnings
    if ENGINE == "torch":
        import torch
        torch.set_num_threads(1)
    from jumok.checkpoint.bundled import bundled
    from jumok.decoding.translator import load
    warnings.simplefilter("ignore")
    model = load(bundled()["ARCH"], "cpu", engine=ENGINE)
    texts = ["7 mai 2016", "5. März 2024", "June 11, 1998"]
    before = model.translate(texts, beam=3)
    child = os.fork()
    same = model.translate(texts, beam=3) == before
    if child == 0:
        os._exit(0 if same else 1)
    assert same and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_many_threads_get_the_answers_of_one() -> None:
    assert check(callers=5, rounds=2) == []


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_a_child_that_is_forked_after_a_model_was_used_translates_too(engine: str) -> None:
    """In a process of its own: forking is not for a process that runs tests.

    PyTorch has one thread: where its OpenMP is GNU's, a child waits for the threads of its parent for good.
    """
    done = run_code(FORKED.replace("ARCH", "transformer").replace("ENGINE", repr(engine)))
    assert done.returncode == 0, done.stderr
