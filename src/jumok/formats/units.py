"""What a file with both sides is made of, whatever its form: units of named texts, counted from 1."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from jumok.errors import DataError

MOST_TEXT = 1_000_000  # characters of one text; a sentence has a few hundred


class NamedTexts(NamedTuple):
    """Unit `number` of a file: texts by language, column or key, or the fault for which it cannot be read.

    After a fault the next unit follows, unless the rest of the file cannot be read either.
    """

    number: int
    texts: Mapping[str, Any]
    fault: DataError | None = None
