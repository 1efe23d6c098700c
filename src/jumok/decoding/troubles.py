"""A model's own troubles as errors that say what to do."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jumok.answers import NotFiniteError
from jumok.decoding.jobs import Job
from jumok.decoding.results import shorten
from jumok.errors import LimitError, RunError, ran_out_of_memory
from jumok.text.tokenizer import Tokenizers


def explain_trouble(error: Exception, batch: Sequence[Job], tokenizers: Tokenizers) -> Exception:
    """What a search of these jobs ran into, with the text where it is known; any other error as it is."""
    if type(error) is LookupError:  # a position that has no learned row
        return LimitError(str(error), code="too_long")
    if isinstance(error, NotFiniteError):
        text = tokenizers.source.decode(batch[error.sentence].source)
        return RunError(
            "the model gave numbers that are not finite",
            where=f"for the text {shorten(text)}",
            hint="its weights may be damaged or diverged: jumok verify checks the folder",
            code="model_numeric_error",
        )
    if ran_out_of_memory(error):
        return LimitError(
            "there is not enough memory for this search",
            hint="a smaller beam, fewer draws or a smaller decoding.batch_tokens needs less",
            code="out_of_memory",
        )
    return error


@contextmanager
def explained(batch: Sequence[Job], tokenizers: Tokenizers) -> Iterator[None]:
    """A model's troubles with these jobs as errors that say what to do."""
    try:
        yield
    except (LookupError, NotFiniteError, MemoryError, RuntimeError) as error:
        known = explain_trouble(error, batch, tokenizers)
        if known is error:
            raise
        raise known from None
