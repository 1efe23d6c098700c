"""Runs the steps of deploy/Dockerfile without a container engine, and the server that they make.

    python scripts/check_image.py [--keep FOLDER]

The first stage gets a folder in place of its root: COPY copies what .dockerignore leaves, RUN runs with the
folder's paths (apt-get is left out: this machine's own compiler is used). Then the entry point starts with
the bundled models, as the user of the image where this is run by root, on a root that cannot be written to;
the health check is asked until it passes, a text is translated, and SIGTERM must end it with 0.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
HOME = "/opt/jumok"
ADDRESS = "http://127.0.0.1:7717"
SEALED = (
    "mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp && "
    'exec setpriv --reuid=10001 --regid=10001 --clear-groups "$@"'
)
PATIENCE_S = 60

Steps = list[tuple[str, str]]


def stages(text: str) -> list[Steps]:
    """The instructions of each stage, a FROM first; comments are left out, continued lines joined."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found: list[Steps] = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word.upper() == "FROM":
            found.append([])
        if word:
            found[-1].append((word.upper(), rest.strip()))
    return found


def value(steps: Steps, word: str) -> str:
    """What the last instruction of this name says."""
    return [rest for name, rest in steps if name == word][-1]


def words(said: str) -> list[str]:
    """A command in the form of a JSON list, such as that of ENTRYPOINT or behind HEALTHCHECK's CMD."""
    return [str(word) for word in json.loads(said[said.index("[") :])]


def left_by(ignore: str, names: list[str]) -> Iterator[str]:
    """The files that a .dockerignore lets into the image; the last line that fits a file decides."""
    lines = [line.strip() for line in ignore.splitlines() if line.strip() and not line.startswith("#")]
    for name in names:
        kept = True
        for line in lines:
            pattern = line.removeprefix("!").removeprefix("**/")
            parts = name.split("/")
            fits = fnmatch(name, pattern) or name.startswith(f"{pattern}/")
            if fits or ("**/" in line and any(fnmatch(part, pattern) for part in parts)):
                kept = line.startswith("!")
        if kept:
            yield name


def build(folder: Path) -> Path:
    """Run the first stage in a folder; gives what the second one copies."""
    source, home = folder / "src", folder / "home"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    listed = [name for name in names.decode().split("\0") if name]
    for name in left_by((ROOT / ".dockerignore").read_text(encoding="utf-8"), listed):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    for word, rest in stages(DOCKERFILE.read_text(encoding="utf-8"))[0]:
        if word == "RUN" and "apt-get" not in rest:
            print(f"RUN {rest}", flush=True)
            subprocess.run(shlex.split(rest.replace(HOME, str(home))), cwd=source, check=True)
    return home


def sealed() -> list[str]:
    """What to put before a command so that it has no rights and a root that it cannot write to."""
    command = ["unshare", "--mount", "sh", "-c", SEALED, "sh"]
    able = os.geteuid() == 0 and subprocess.run([*command, "true"], capture_output=True).returncode == 0
    print("as user 10001 on a read-only root" if able else "as this user: only root can seal it", flush=True)
    return command if able else []


def try_server(home: Path) -> None:
    """Start the entry point, wait until it is healthy, translate, and stop it."""
    final = stages(DOCKERFILE.read_text(encoding="utf-8"))[-1]
    command = [word.replace(HOME, str(home)) for word in words(value(final, "ENTRYPOINT"))]
    check = [word.replace(HOME, str(home)) for word in words(value(final, "HEALTHCHECK"))]
    environment = {"PATH": f"{home}/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    began = time.monotonic()
    server = subprocess.Popen([*sealed(), *command, "--insecure"], env=environment, cwd="/")
    try:
        while subprocess.run(check, env=environment, capture_output=True).returncode:
            if server.poll() is not None or time.monotonic() - began > PATIENCE_S:
                raise SystemExit("the server did not become healthy")
            time.sleep(0.1)
        print(f"healthy after {time.monotonic() - began:.1f} s", flush=True)
        body = json.dumps({"model": "transformer", "texts": ["den 5 mars 2024"]}).encode()
        request = Request(f"{ADDRESS}/v1/translate", body, {"Content-Type": "application/json"})
        with urlopen(request, timeout=30) as answer:
            print("translated:", json.load(answer)["results"][0]["text"], flush=True)
        server.send_signal(signal.SIGTERM)
        if code := server.wait(60):
            raise SystemExit(f"the server ended with {code}")
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", type=Path, help="an empty folder for the stage, which stays")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        folder = options.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        home = build(folder)
        files = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink()]
        print(f"{sum(path.stat().st_size for path in files) / 1e6:.0f} MB beside Python itself", flush=True)
        try_server(home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
