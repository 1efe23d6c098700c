"""The page's types are those of the API."""

import json
import subprocess
import sys

from tests.test_layout import SRC


def test_the_committed_types_are_what_the_schema_gives() -> None:
    root = SRC.parent.parent
    committed = (root / "web" / "src" / "api-types.ts").read_text(encoding="utf-8")
    code = "import sys, json; sys.path.insert(0, 'scripts'); import make_types as m; "
    code += "sys.stdout.write(json.dumps(m.types_of(json.loads(m.SCHEMA.read_text(encoding='utf-8')))))"
    made = subprocess.run([sys.executable, "-B", "-c", code], cwd=root, capture_output=True, check=True)
    assert json.loads(made.stdout) == committed, "run: python scripts/make_types.py"
