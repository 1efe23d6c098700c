"""A seal in a JSON document: whoever reads it back knows that no byte of its content has changed.

Files with a manifest (model folders) need none. Spaces and the order of keys do not count, so that a document
may be laid out anew; one without a seal, of an earlier version or another program, is read as it is.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

SEAL = "seal"


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its seal."""
    return {**document, SEAL: digest(json.loads(json.dumps(document)))}


def unsealed(document: Any) -> Any:
    """What was sealed; a ValueError if it is not as it was then."""
    if not isinstance(document, dict) or SEAL not in document:
        return document
    content = {key: value for key, value in document.items() if key != SEAL}
    if document[SEAL] != digest(content):
        raise ValueError("its content has changed since it was written")
    return content


def digest(content: Any) -> str:
    """64 bits are plenty against accidents; nobody is kept from changing a file and its seal."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
