"""A translator that reads every source in one part, so that a test shows what lies past the training lengths.

`jumok translate` cuts a source that is longer than any of training into parts, which hides the answer.
"""

from copy import copy
from dataclasses import replace

from jumok.decoding.translator import Translator

NO_LIMIT = 1_000_000  # tokens


def unsplit(translator: Translator) -> Translator:
    """The same weights with another limit. Only a table of learned positions still sets one."""
    config, decoding, most = translator.config, translator.config.decoding, NO_LIMIT
    if rows := config.model.table_rows:
        most = max(rows - 1, 1)  # the end takes a row
        decoding = replace(decoding, max_len=min(decoding.max_len, most))
    other = copy(translator)
    other.config = replace(config, data=replace(config.data, max_length=most), decoding=decoding)
    return other
