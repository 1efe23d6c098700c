"""`jumok translate` of documents: which inputs are, what is refused, and a process that is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.documents.faulty import every_fault

from jumok.cli.shared.document import FORMS, document_format, document_order
from jumok.cli.translate import translate
from jumok.errors import ConfigError, Error
from jumok.formats.known import names

PAGE = '<html lang="de">\n<p>Am <b>5. Mai 2004</b></p><p>42</p></html>\n'


def run(*words: str) -> Result:
    return CliRunner().invoke(translate, ["-m", "demo/transformer", *words])


@pytest.mark.parametrize(
    ("source", "form", "found"),
    [
        ("a.html", None, (True, None)),
        ("a.md", None, (True, None)),
        ("a.txt", None, (False, None)),
        ("a.en", None, (False, None)),
        ("", None, (False, None)),
        ("-", "json", (False, None)),
        ("a.html", "text", (False, None)),
        ("a.html", "json", (False, None)),
        ("a.txt", "txt", (True, "txt")),
        ("a.bin", "xliff", (True, "xliff")),
    ],
)
def test_what_is_a_document(source: str, form: str | None, found: tuple[bool, str | None]) -> None:
    assert document_format(source, form) == found


def test_every_format_can_be_named() -> None:
    assert set(FORMS) == {"text", "moses", "json", *names()}


def test_what_cannot_be_had_together() -> None:
    with pytest.raises(ConfigError, match="--format html is that of a document\n  name the file with -i"):
        document_format("-", "html")
    with pytest.raises(ConfigError, match="--all is for documents"):
        document_order("a.txt", "-", None, all_segments=True, as_json=False, quiet=True)
    order = document_order("a.html", "-", None, all_segments=False, as_json=False, quiet=True)
    assert order is not None
    with pytest.raises(
        ConfigError, match="--stream has no place in a document\n .*line by line: --format text"
    ):
        order.check({"stream": True})
    with pytest.raises(ConfigError, match=r"a.html is a document, and needs a file .*\n  add -o a.new.html"):
        order.check({"stream": False})


def test_a_page_is_translated_and_reported(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE, encoding="utf-8")
    result = run("-i", str(tmp_path / "a.html"), "-o", str(tmp_path / "b.html"), "--json", "--beam", "1")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["format"], report["translated"], report["skipped"]) == ("html", 1, 1)
    assert re.match(r"1 segment translated · 1 with nothing to translate.* · \d+\.\d s\n", result.stderr)
    written = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert re.fullmatch(r'<html lang="\w+">\n<p>.*<b>.*</b>.*</p><p>42</p></html>\n', written)


def test_what_became_of_a_glossary_is_said_as_it_is_of_lines(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "terms.tsv").write_text("Mai\t-05-\n", encoding="utf-8")
    files = ("-i", str(tmp_path / "a.html"), "-o", str(tmp_path / "b.html"))
    result = run(*files, "--json", "--glossary", str(tmp_path / "terms.tsv"))
    assert result.exit_code == 0, result.stderr
    assert "1 of 1 terms of the glossary are there\n" in result.stderr
    assert (json.loads(result.stdout)["terms"], json.loads(result.stdout)["missed"]) == (1, {})


def test_lines_stay_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("5. Mai 2004\n6. Mai 2004\n", encoding="utf-8")
    result = run("-i", str(tmp_path / "a.txt"), "--beam", "1")
    assert len(result.stdout.splitlines()) == 2
    forms = run("-i", str(tmp_path / "a.txt"), "--beam", "1", "--format", "json")
    assert [json.loads(line)["line"] for line in forms.stdout.splitlines()] == [1, 2]


@every_fault
def test_a_faulty_document_is_told_and_nothing_is_written(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    form = ["--format", "txt"] if name == "a.txt" else []  # else it is a file of lines
    result = run("-i", str(tmp_path / name), "-o", str(tmp_path / f"out-{name}"), *form)
    assert isinstance(result.exception, Error)
    assert re.search(said, str(result.exception), re.DOTALL)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == content


@pytest.mark.slow
def test_a_process_that_is_killed_goes_on_and_gives_the_same(tmp_path: Path) -> None:
    paragraphs = "".join(f"<p>Am {n % 28 + 1}. Mai <i>{1900 + n}</i></p>\n" for n in range(900))
    (tmp_path / "a.html").write_text(paragraphs, encoding="utf-8")
    words = [sys.executable, "-m", "jumok", "translate", "-m", "demo/transformer", "--beam", "2"]
    words += ["-i", str(tmp_path / "a.html")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*words, "-o", str(tmp_path / "b.html")], env=environment, stderr=subprocess.PIPE
    )
    journal = tmp_path / "b.html.jumok"
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") > 256:
            break
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "b.html").exists()
    done = subprocess.run(
        [*words, "-o", str(tmp_path / "b.html")], env=environment, capture_output=True, check=True, text=True
    )
    assert re.search(r"\d+ of them done before", done.stderr)
    subprocess.run([*words, "-o", str(tmp_path / "c.html")], env=environment, capture_output=True, check=True)
    assert (tmp_path / "b.html").read_bytes() == (tmp_path / "c.html").read_bytes()
    assert not journal.exists()
