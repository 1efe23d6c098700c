"""A translator that reads every source in one part, so that one sees what lies past the lengths it learned.

`jumok translate` cuts a source that is longer than any of training into parts, which hides the answer.
"""

from dataclasses import replace

from jumok.decoding.translator import Translator

NO_LIMIT = 1_000_000  # pieces


class Whole(Translator):
    """The same model around the same weights. Only a table of learned positions still sets a limit."""

    def __init__(self, translator: Translator) -> None:
        self.__dict__.update(translator.__dict__)
        config, decoding, most = translator.config, translator.config.decoding, NO_LIMIT
        if rows := config.model.table_rows:
            most = max(rows - 1, 1)  # the end takes a row
            decoding = replace(decoding, max_len=min(decoding.max_len, most))
        self.config = replace(config, data=replace(config.data, max_length=most), decoding=decoding)
