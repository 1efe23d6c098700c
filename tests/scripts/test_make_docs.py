"""The documentation site before it is built: its pages, their order, and what none may ask for."""

import re
from pathlib import Path

import pytest
from scripts.make_docs import asked, gather, name_languages, navigation, public_names, reference, stage

import jumok

ROOT = Path(__file__).parents[2]


def test_every_page_of_the_documentation_is_there_with_what_it_links_to() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in gather()}
    assert {page.relative_to(ROOT).as_posix() for page in ROOT.glob("docs/**/*.md")} <= found
    assert {"README.md", "CONTRIBUTING.md", "recipes/README.md", "src/jumok/models/interface.py"} <= found
    assert {"docs/openapi.json", "deploy/compose.yaml"} <= found
    assert not any(".venv" in name or name.startswith("..") for name in found)


def places(entry: object) -> list[str]:
    """The pages of a part of the navigation."""
    match entry:
        case str():
            return [entry]
        case dict():
            return [place for inner in entry.values() for place in places(inner)]
        case list():
            return [place for inner in entry for place in places(inner)]
    return []


def test_the_tabs_have_both_languages_and_lead_to_pages(tmp_path: Path) -> None:
    stage(tmp_path, explorer=True)
    tabs = navigation(explorer=True)
    names = [name for tab in tabs for name in tab]
    assert names == ["jumok", "Documentation", "한국어", "Python reference", "Explorer"]
    for place in places(tabs):
        assert (tmp_path / place).is_file(), place
    english, korean = places(tabs[1]), places(tabs[2])
    assert "docs/http.md" in english
    assert "docs/http.ko.md" in korean
    assert not [place for place in english if place.endswith(".ko.md")]
    assert "docs/tasks/translate.ko.md" in korean


def test_without_the_static_explorer_there_is_no_tab_for_it(tmp_path: Path) -> None:
    assert "Explorer" not in [name for tab in navigation(explorer=False) for name in tab]
    stage(tmp_path, explorer=False)
    assert not (tmp_path / "explorer.md").exists()


def test_the_reference_has_every_public_name_once() -> None:
    text = (ROOT / "src/jumok/__init__.py").read_text(encoding="utf-8")
    assert public_names(text) == list(jumok.__all__)
    listed = [name for page in reference().values() for name in re.findall(r"^::: jumok\.(\w+)$", page, re.M)]
    assert sorted(listed) == sorted(name for name in jumok.__all__ if not name.startswith("__"))
    assert public_names("x = 1") == []


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ('<script src="https://cdn.test/a.js"></script>', "https://cdn.test/a.js"),
        ('<link rel="stylesheet" href="//fonts.test/a.css">', "//fonts.test/a.css"),
        ("<style>a { background: url(https://x.test/a.png) }</style>", "https://x.test/a.png"),
        ('<style>@import "https://x.test/a.css"</style>', "https://x.test/a.css"),
        ('<img alt="" src=https://x.test/b.png>', "https://x.test/b.png"),
    ],
)
def test_what_would_be_asked_of_another_site_is_found(tmp_path: Path, text: str, url: str) -> None:
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    assert asked(tmp_path) == [f"page.html asks for {url}"]


def test_links_that_a_reader_follows_are_not_asked_for(tmp_path: Path) -> None:
    page = '<a href="https://x.test/">x</a><link rel="canonical" href="https://x.test/a"><img src="a.png">'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text('<img src="https://x.test/">', encoding="utf-8")
    assert asked(tmp_path) == []


def test_korean_pages_say_so(tmp_path: Path) -> None:
    for name in ("a.html", "a.ko.html"):
        (tmp_path / name).write_text('<html lang="en">', encoding="utf-8")
    name_languages(tmp_path)
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == '<html lang="en">'
    assert (tmp_path / "a.ko.html").read_text(encoding="utf-8") == '<html lang="ko">'


def test_the_tools_are_pinned_and_make_knows_them() -> None:
    lines = (ROOT / "scripts" / "docs_requirements.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in lines if not line.startswith("#"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "scripts/make_docs.py" in makefile
