"""Make docs/openapi.json, the description of the HTTP API, from the typed handlers in src/jumok/server.

    python scripts/make_openapi.py

The document is a pure function of the source, and a test compares the two, so it cannot fall behind.
"""

import json
import sys
from pathlib import Path

from jumok.server.app import build_app

PLACE = Path(__file__).parents[1] / "docs" / "openapi.json"


def make_document() -> str:
    """The document as it is committed: sorted, indented, with an end of line."""
    return json.dumps(build_app({}).openapi(), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    PLACE.write_text(make_document(), encoding="utf-8")
    print(PLACE, file=sys.stderr)
