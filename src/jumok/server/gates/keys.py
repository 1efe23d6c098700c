"""API keys, compared in constant time."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable


class Keys:
    """The keys that open this server. Comparing takes the same time whatever is given."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = [digest(key) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def admit(self, given: str) -> bool:
        mine = digest(given)
        return bool(sum(hmac.compare_digest(mine, one) for one in self._digests))


def digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def token(authorization: str) -> str:
    """The key in an Authorization header."""
    scheme, _, value = authorization.partition(" ")
    match scheme.lower():
        case "bearer":
            return value.strip()
        case "basic":
            try:
                return base64.b64decode(value, validate=True).decode("utf-8").partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return ""
        case _:
            return ""
