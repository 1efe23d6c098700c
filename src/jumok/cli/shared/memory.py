"""`--memory FILE`: a translation memory in the direction of a model."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jumok.decoding.translator import Translator


def memory_for(translator: "Translator", path: str) -> dict[str, Any]:
    """The option for a translator; none if no file is named."""
    if not path:
        return {}
    from jumok.terms.memory import read_memory

    data = translator.config.data
    return {"memory": read_memory(path, (data.source_language, data.target_language))}
