"""The hashes behind constraints.txt, and the list of parts made from them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.make_hashes import canonical, entry, hashes, pins
from scripts.make_sbom import document, packages

ROOT = Path(__file__).parents[2]
ONE, TWO, THREE = "a" * 64, "b" * 64, "c" * 64
PAGE = f"""
<a href="https://files/x/some_pkg-1.0-py3-none-any.whl#sha256={ONE}">some_pkg-1.0-py3-none-any.whl</a>
<a href="https://files/x/some-pkg-1.0.tar.gz#sha256={TWO}" data-requires-python="&gt;=3">x</a>
<a href="https://files/x/some_pkg-1.0-cp311-cp311-manylinux_2_17_x86_64.whl#sha256={THREE}">x</a>
<a href="https://files/x/some_pkg-1.0-cp311-cp311-win_amd64.whl#sha256={"d" * 64}">x</a>
<a href="https://files/x/some_pkg-1.0-cp39-cp39-manylinux_2_17_x86_64.whl#sha256={"e" * 64}">x</a>
<a href="https://files/x/some_pkg-1.0.1-py3-none-any.whl#sha256={"f" * 64}">x</a>
<a href="https://files/x/some_pkg_more-1.0-py3-none-any.whl#sha256={"0" * 64}">x</a>
<a href="https://files/x/some_pkg-1.0-py2.py3-none-any.whl#md5=00">x</a>
"""


def test_the_files_of_one_version_for_systems_that_we_run_on() -> None:
    assert sorted(hashes(PAGE, "Some.Pkg", "1.0")) == [ONE, TWO, THREE]
    with pytest.raises(SystemExit, match="the index has no file of some-pkg 2.0 with a SHA-256"):
        entry(PAGE, "some-pkg", "2.0")


def test_an_entry_is_what_pip_reads() -> None:
    lines = ["some-pkg==1.0", *(f"--hash=sha256:{one}" for one in (ONE, TWO, THREE))]
    assert entry(PAGE, "some-pkg", "1.0") == " \\\n    ".join(lines) + "\n"


def test_the_committed_hashes_are_of_the_constraints() -> None:
    pinned = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    text = (ROOT / "hashes.txt").read_text(encoding="utf-8")
    locked = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", text, re.MULTILINE)
    assert locked == pinned, "run scripts/make_hashes.py"
    assert all(part["externalReferences"][0]["hashes"] for part in packages(text))


def test_the_list_of_parts_names_every_package_and_what_jumok_asks_for(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "make_sbom.py"
    for name in ("one.json", "two.json"):
        subprocess.run([sys.executable, script, tmp_path / name], check=True, capture_output=True)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    found = json.loads((tmp_path / "one.json").read_bytes())
    assert found == document()
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.5")
    names = {part["name"] for part in found["components"]}
    assert names == {canonical(name) for name, _ in pins((ROOT / "constraints.txt").read_text())}
    (about,) = found["dependencies"]
    assert {"pkg:pypi/numpy@", "pkg:pypi/torch@"} <= {one.split("@")[0] + "@" for one in about["dependsOn"]}
