"""What the codes of languages say: whether two of them are a translation."""

import re

NOT_LANGUAGES = frozenset({"ipa", "mul", "mis", "und", "zxx"})
CODE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{2,8})*", re.IGNORECASE)


def translates(source: str, target: str) -> bool:
    """Whether these are the codes of two languages, so that a model translates between them."""
    codes = (source.lower(), target.lower())
    return codes[0] != codes[1] and all(CODE.fullmatch(one) and one not in NOT_LANGUAGES for one in codes)
