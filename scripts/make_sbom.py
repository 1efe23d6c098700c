"""Make the list of parts (SBOM) of a release: what it was built and tested with, as CycloneDX.

    python scripts/make_sbom.py dist/jumok-0.1.0.cdx.json

Names, versions and hashes come from hashes.txt, the version of jumok from the package. Equal inputs give
equal bytes; the format is CycloneDX 1.5, which dependency scanners read.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def packages(text: str) -> list[dict[str, Any]]:
    """The pinned packages of hashes.txt, with all files of a version: which one is used differs by system."""
    starts = [*(match for match in PIN.finditer(text)), None]
    found = []
    for match, after in zip(starts, starts[1:], strict=False):
        assert match is not None
        block = text[match.end() : after.start() if after else len(text)]
        name, version = canonical(match[1]), match[2]
        address = f"pkg:pypi/{name}@{version}"
        files = [{"alg": "SHA-256", "content": one} for one in HASH.findall(block)]
        found.append(
            {
                "type": "library",
                "bom-ref": address,
                "name": name,
                "version": version,
                "purl": address,
                "externalReferences": [
                    {
                        "type": "distribution",
                        "url": f"https://pypi.org/project/{name}/{version}/",
                        "hashes": files,
                    }
                ],
            }
        )
    return sorted(found, key=lambda one: str(one["purl"]))


def needed(project: dict[str, Any]) -> list[str]:
    """The packages that jumok itself asks for, with any of its extras."""
    lines = [
        *project["dependencies"],
        *(one for part in project["optional-dependencies"].values() for one in part),
    ]
    names = {canonical(re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0]) for line in lines}
    return sorted(names - {"jumok"})


def document() -> dict[str, Any]:
    """The whole list."""
    source = (ROOT / "src" / "jumok" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'__version__ = "([^"]+)"', source)
    assert version is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = packages((ROOT / "hashes.txt").read_text(encoding="utf-8"))
    address = f"pkg:pypi/jumok@{version[1]}"
    references = {str(one["name"]): str(one["purl"]) for one in parts}
    depends = [references[name] for name in needed(project) if name in references]
    itself = {"type": "library", "bom-ref": address, "name": "jumok", "version": version[1], "purl": address}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": itself | {"licenses": [{"license": {"id": project["license"]}}]}},
        "components": parts,
        "dependencies": [{"ref": address, "dependsOn": depends}],
    }


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.write_text(json.dumps(document(), indent=1) + "\n", encoding="utf-8")
    print(place, file=sys.stderr)
