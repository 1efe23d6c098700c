"""The documentation site: the pages of this repository, with search and a reference of the API.

    make docs                                                  # sets itself up in build/docs-venv
    python scripts/make_docs.py [--out build/docs] [--site site]

Pages keep their relative addresses, so that their links work as they do in the repository; files that they
link to come along. If there is a folder with the explorer as a static site (`jumok site -o site`), it becomes
a part of this one. The build fails for a link or an anchor that leads nowhere, and for anything that a page
would ask of another site.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START = ["README.md", "README.ko.md", "CONTRIBUTING.md", "SECURITY.md", "docs/README.md", "docs/README.ko.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)#]+\.md)\)", re.MULTILINE)
ASKED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)[^>]+src=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link(?![^>]+rel=["']?(?:canonical|alternate))[^>]+href=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|url\(["']?((?:https?:)?//[^"')]+)|@import\s+["']((?:https?:)?//[^"']+)"""
)
PLACE = "site"  # of the explorer, below the site
EXPLORER = """# The explorer in this tab

Everything below is computed by your browser: the engine in WebAssembly, the models beside it, no server.

<p><a class="md-button" href="site/index.html">Open it in a tab of its own</a></p>
<iframe src="site/index.html" title="The explorer" style="width: 100%; height: 80vh; border: 0"></iframe>
"""


def linked(page: Path) -> Iterator[Path]:
    """Files of the repository that a page leads to."""
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        path = link.partition("#")[0]
        if path and "://" not in link and not link.startswith("mailto:"):
            yield (page.parent / path).resolve()


def gather() -> list[Path]:
    """All pages, from the first ones by way of links, and the files that they link to."""
    found: dict[Path, None] = {}
    waiting = [ROOT / name for name in START] + sorted((ROOT / "docs").rglob("*.md"))
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found[path] = None
        if path.suffix == ".md":
            waiting += linked(path)
    return sorted(found)


def public_names(package: str) -> list[str]:
    """What a module offers: the names of its `__all__`."""
    for node in ast.parse(package).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def reference() -> dict[str, str]:
    """Pages of the API, by their address: functions, classes and errors of the package."""
    names = public_names((ROOT / "src/jumok/__init__.py").read_text(encoding="utf-8"))
    kinds: dict[str, list[str]] = {"functions": [], "classes": [], "errors": []}
    for name in names:
        if name.endswith("Error"):
            kinds["errors"].append(name)
        elif not name.startswith("__"):
            kinds["classes" if name[0].isupper() else "functions"].append(name)
    pages = {}
    for kind, members in kinds.items():
        blocks = "\n\n".join(f"::: jumok.{name}" for name in members)
        pages[f"reference/{kind}.md"] = f"# {kind.capitalize()} of `jumok`\n\n{blocks}\n"
    return pages


def title_of(page: Path) -> str:
    first = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return first[1].replace("`", "") if first else page.stem


def below(folder: str, *, korean: bool) -> list[dict[str, str]]:
    """The pages of a folder of docs in one language, by their titles."""
    pages = sorted((ROOT / "docs" / folder).rglob("*.md"), key=lambda page: (page.name[:6] != "README", page))
    chosen = [page for page in pages if page.name.endswith(".ko.md") is korean]
    return [{title_of(page): page.relative_to(ROOT).as_posix()} for page in chosen]


def navigation(*, explorer: bool) -> list[dict[str, Any]]:
    """What the tabs have: the index of each language in its order, then the folders."""

    def index(name: str) -> list[dict[str, str]]:
        rows = ROW.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))
        pages = [{title: os.path.normpath(f"docs/{path}")} for title, path in rows]
        return [{title_of(ROOT / "docs" / name): f"docs/{name}"}, *pages]

    english: list[Any] = index("README.md")
    english += [{"Tasks": below("tasks", korean=False)}, {"Decisions": below("decisions", korean=False)}]
    korean: list[Any] = [*index("README.ko.md"), {"과제": below("tasks", korean=True)}]
    api = [{path.split("/")[1].removesuffix(".md").capitalize(): path} for path in reference()]
    return [
        {"jumok": "README.md"},
        {"Documentation": english},
        {"한국어": korean},
        {"Python reference": api},
        *([{"Explorer": "explorer.md"}] if explorer else []),
    ]


def stage(folder: Path, *, explorer: bool) -> None:
    """Put all pages, and what they link to, into a folder."""
    for path in [*gather(), *(ROOT / "docs" / "images").glob("*")]:
        to = folder / path.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    made = reference() | ({"explorer.md": EXPLORER} if explorer else {})
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def asked(site: Path) -> list[str]:
    """What pages and styles would fetch from another site; the explorer has its own tests."""
    found = []
    for path in sorted(site.rglob("*")):
        inside = path.relative_to(site)
        if path.suffix in (".html", ".css") and inside.parts[0] != PLACE:
            text = path.read_text(encoding="utf-8")
            found += [f"{inside} asks for {''.join(urls)}" for urls in ASKED.findall(text)]
    return found


def name_languages(site: Path) -> None:
    """Korean pages say so: readers' programs pronounce and break lines by it."""
    for path in site.rglob("*.ko.html"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('<html lang="en"', '<html lang="ko"', 1), encoding="utf-8")


def build(out: Path, explorer: Path | None) -> int:
    """Build the site with mkdocs, which checks the links; the exit code."""
    import yaml  # of mkdocs: the environment of `make docs` has it

    with tempfile.TemporaryDirectory() as made:
        pages = Path(made, "pages")
        stage(pages, explorer=explorer is not None)
        config = {
            "INHERIT": str(ROOT / "scripts" / "mkdocs.yml"),
            "docs_dir": str(pages),
            "site_dir": str(out.resolve()),
            "nav": navigation(explorer=explorer is not None),
        }
        file = Path(made, "mkdocs.yml")
        file.write_text(yaml.safe_dump(config, allow_unicode=True, sort_keys=False), encoding="utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(file)]
        environment = {**os.environ, "DOCS_OF": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
        if code := subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
            return code
    if explorer is not None:
        shutil.copytree(explorer, out / PLACE, dirs_exist_ok=True)
    name_languages(out)
    foreign = asked(out)
    for line in foreign:
        print(line, file=sys.stderr)
    if not foreign:
        count = len(list(out.rglob("*.html")))
        print(f"{count} pages: open {out / 'index.html'}")
    return bool(foreign)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs", help="a folder for the site")
    parser.add_argument("--site", type=Path, default=ROOT / "site", help="the explorer as a static site")
    options = parser.parse_args()
    explorer = options.site if (options.site / "index.html").is_file() else None
    return build(options.out, explorer)


if __name__ == "__main__":
    sys.exit(main())
