"""`write_site`: a folder of files that is the explorer of some models, for any web host and without a server.

It holds the built page, the engine, each model folder as it is, and what runs have left behind. `site.json`
says what is where. All names but those of the few files that browsers ask for first have a hash in them.
"""

import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumok.checkpoint.contents import Contents, read_arrays, read_contents, read_parts
from jumok.checkpoint.manifest import CALIBRATION, MANIFEST, NEIGHBOURS, NOVELTY, first_whole, read_manifest
from jumok.config import copies
from jumok.errors import ConfigError, RunError
from jumok.server.runs.catalog import Runs
from jumok.server.runs.evals import Evals
from jumok.site.engine import ENGINES, HERE
from jumok.text.foreign_form import is_foreign

PAGE = Path(__file__).parents[1] / "server" / "static"
SITE = "site.json"
INDEX = "index.html"
NOT_HERE = re.compile(r"(file|report|documents)-")
"""Scripts of exported files, and of a screen that needs a server."""
UNREAD = {"README.md", "optimizer.safetensors", "shortlist.safetensors"}
"""Files of a model folder that a page does not read."""
LATER = (CALIBRATION, NOVELTY)
"""Files that were added to a model folder: what its scores and texts usually are."""
POINTS = 1000  # of a curve, as the page asks for
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
)
WITH_SERVER = "show it with jumok serve"


@dataclass(frozen=True)
class SiteModel:
    """A model of the site: its folder or its run, and what is known about it."""

    folder: Path
    examples: tuple[str, ...] = ()
    run: str | None = None
    neighbours: bool = False
    """With its index of states, if it has one, and so with sentences that it learned from."""


def write_site(
    models: Mapping[str, SiteModel], out: Path, *, runs: Path | None = None, only: Collection[str] = ()
) -> list[str]:
    """Write the site of these models, by the names that the page shows; the files that it has.

    Of the `runs` in a folder those in `only` are shown, or all.
    A folder that holds something else is not touched. What the page cannot run is a ConfigError.
    """
    own, recorded = site_files(models, runs, only)
    files = page_files() | own
    files[INDEX] = index(
        files[INDEX].decode(), next(file for file in files if file.startswith("worker-")), recorded
    )
    files["opened.js"] = (HERE / "opened.js").read_bytes()
    files["sw.js"] = service_worker(files)
    put(files, out)
    return sorted(files)


def site_files(
    models: Mapping[str, SiteModel], runs: Path | None = None, only: Collection[str] = ()
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """What the worker of a site reads, by name, and what is recorded about runs."""
    contents = {name: readable(name, one.folder) for name, one in models.items()}
    files = engine_files()
    engines = list(files)  # in the order of `ENGINES`: the fast one, then the one for every browser
    described, places = [], dict[bytes, str]()  # equal files of several models lie in one place
    for name, one in models.items():
        folder, own = model_files(name, contents[name].folder, LATER + (NEIGHBOURS,) * one.neighbours)
        where = {file: places.setdefault(own[file], f"{folder}/{file}") for file in sorted(own)}
        files |= {where[file]: content for file, content in own.items()}
        described.append({"name": name, "files": where, "examples": list(one.examples), "run": one.run})
    recorded = recorded_answers(runs, only) if runs is not None else {}
    answers = hashed("answers.json.gz", packed(to_json(recorded))) if recorded else {}
    files |= answers
    site = {"engines": engines, "models": described, "answers": next(iter(answers), None)}
    files[SITE] = to_json(site)
    return files, recorded


def readable(name: str, path: Path) -> Contents:
    """The model of a folder or a run, whole and of a kind that a page can run."""

    def read(folder: Path) -> Contents:
        contents = read_contents(folder)
        if contents.quantised:
            read_parts(contents)
        else:
            read_arrays(contents)  # checks the file
        return contents

    contents = first_whole(path, read)
    if reason := cannot_run(contents):
        raise ConfigError(
            f"the model {name} {reason}, which a page without a server cannot",
            where=str(contents.folder),
            hint=WITH_SERVER,
            code="not_for_site",
        )
    return contents


def cannot_run(contents: Contents) -> str:
    """What a model does that a page without a server does not; "" for a model that it can run."""
    files = read_manifest(contents.folder)
    if contents.tokenizers.pictures:
        return "reads pictures"
    if "frame.json" in files:
        return "translates in several directions"
    if copies(contents.config.model):
        return "copies from its source"
    tokenizers = [name for name in files if name.endswith("tokenizer.json")]
    if any(is_foreign((contents.folder / name).read_bytes()) for name in tokenizers):
        return "cuts texts as another program does"
    return ""


def page_files() -> dict[str, bytes]:
    """The built page by file name; words and the book are packed, so that they are small on every host."""
    if not (PAGE / INDEX).exists():
        raise RunError("the page has not been built", hint="cd web && npm ci && npm run build")
    paths = [path for path in sorted(PAGE.iterdir()) if not NOT_HERE.match(path.name)]
    plain = {path.name: path.read_bytes() for path in paths if path.suffix != ".json"}
    return plain | {f"{path.name}.gz": packed(path.read_bytes()) for path in paths if path.suffix == ".json"}


def engine_files() -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name in ENGINES:
        files |= hashed(name, (HERE / name).read_bytes())
    return files


def model_files(name: str, folder: Path, added: Collection[str]) -> tuple[str, dict[str, bytes]]:
    """Where a model folder goes, and its files; of those that were added to it later, these."""
    names = [one for one in read_manifest(folder) if one not in UNREAD]
    later = [one for one in added if (folder / one).is_file()]
    files = {one: (folder / one).read_bytes() for one in (MANIFEST, *names, *later)}
    mark = hashlib.sha256(b"".join(files[one] for one in (MANIFEST, *later))).hexdigest()[:10]
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "model"
    return f"models/{plain}-{mark}", files


def recorded_answers(folder: Path, only: Collection[str] = ()) -> dict[str, Any]:
    """What the server says about the runs in a folder, by path; {} where there are none."""
    runs = Runs(folder)
    evals = Evals(runs)
    shown = [run for run in runs.all() if not only or run.name in only]
    answers: dict[str, Any] = {}
    for run in shown:
        details = run.details() | {"status": "completed"}
        answers[f"/v1/runs/{run.name}"] = details
        answers[f"/v1/runs/{run.name}/series"] = {"series": run.series(details["series"], POINTS)}
    if not answers:
        return {}
    answers["/v1/runs"] = {"runs": [run.summary() for run in shown]}
    summaries = [one for one in evals.all() if not only or one["run"] in only]
    answers["/v1/evals"] = {"evals": summaries}
    return answers | {f"/v1/evals/{one['id']}": evals.find(one["id"]) for one in summaries}


def index(page: str, worker: str, recorded: Mapping[str, Any]) -> bytes:
    """The page with paths that hold wherever the folder lies, and with a word for its script."""
    for attribute in ("href", "src", "content"):
        page = page.replace(f'{attribute}="/', f'{attribute}="./')
    told = [
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}" />',
        f'<meta name="jumok-worker" content="./{worker}" />',
        *(['<meta name="jumok-runs" content="" />'] if recorded else []),
        '<script src="./opened.js"></script>',
    ]
    place = page.index("<title>")
    return (page[:place] + "\n    ".join([*told, ""]) + page[place:]).encode()


def service_worker(files: Mapping[str, bytes]) -> bytes:
    """The script that keeps the site in the browser; another one whenever a file changes."""
    names = sorted(files)
    version = hashlib.sha256(b"".join(hashlib.sha256(files[name]).digest() for name in names)).hexdigest()[
        :16
    ]
    script = (HERE / "sw.js").read_text("utf-8").replace("__VERSION__", version)
    listed = json.dumps(["./", *(f"./{name}" for name in names)])
    head, _, rest = script.partition("\n")
    return (
        head.replace("__FILES__", "the list below has") + "\n" + rest.replace("__FILES__", listed)
    ).encode()


def put(files: Mapping[str, bytes], out: Path) -> None:
    """Write the files into a folder of their own, which may hold an earlier site and nothing else."""
    try:
        if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / SITE).exists())):
            raise ConfigError(
                f"{out} is there already and is no site",
                hint="name a new folder, or an empty one",
                code="not_empty",
            )
        unfinished = out.with_name(f".{out.name}.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        for name, content in files.items():
            path = unfinished / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        shutil.rmtree(out, ignore_errors=True)
        unfinished.replace(out)
    except OSError as error:
        raise RunError(f"cannot write the site: {error.strerror}", where=str(out)) from None


def hashed(name: str, content: bytes) -> dict[str, bytes]:
    """A file under a name that changes with its content."""
    stem, _, ending = name.partition(".")
    return {f"{stem}-{hashlib.sha256(content).hexdigest()[:10]}.{ending}": content}


def packed(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)


def to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def total(files: Sequence[str], out: Path) -> int:
    """Bytes of all files."""
    return sum((out / name).stat().st_size for name in files)
