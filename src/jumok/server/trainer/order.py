"""One run of `jumok train` as the page asks for it: its files, its command, and what it said at its end."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from shlex import join

from jumok.server.trainer.schema import TrainingRequest

SIZE = "tiny"  # what a CPU teaches while someone looks on
FEW, FEW_BATCH = 2000, 500  # pairs, and tokens of an update where there are no more: many updates teach more
LOOKED_AT = 100  # validation sentences that are translated at each look
LOG_EVERY = 10  # steps between two points of a curve that someone looks at
LOG_TAIL = 8192  # bytes of what it said last
ERROR = re.compile(r"^error: (.*(?:\n  .*)*)", re.MULTILINE)


@dataclass(frozen=True)
class TrainingOrder:
    """What is trained on what. The run goes into `folder`/`name`, its pairs and its words beside it."""

    name: str
    folder: Path
    paths: tuple[Path, ...]
    pairs: int
    request: TrainingRequest

    @property
    def run(self) -> Path:
        return self.folder / self.name

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def events(self) -> Path:
        return self.run / "metrics.jsonl"

    @property
    def options(self) -> list[str]:
        """The words after `jumok train`."""
        asked = self.request
        settings = {
            "training.early_looks": "true",
            "training.valid_sentences": str(LOOKED_AT),
            "training.log_every": str(LOG_EVERY),
        }
        if self.pairs < FEW:
            settings["training.batch_tokens"] = str(FEW_BATCH)
        for side in ("source", "target"):
            if code := getattr(asked, f"{side}_language"):
                settings[f"data.{side}_language"] = code
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        given = zip(("--source", "--target"), map(str, self.paths), strict=False)
        files = [word for pair in given for word in pair]
        size = ["--arch", asked.arch, "--preset", SIZE, "--time-limit", f"{asked.seconds}s"]
        return [*files, *size, *words, "--out", str(self.run)]

    @property
    def command(self) -> list[str]:
        """The process: this Python, whatever a shell would find."""
        return [sys.executable, "-m", "jumok", "train", *self.options]

    @property
    def shown(self) -> str:
        """The same for people."""
        return self.without_place(join(["jumok", "train", *self.options]))

    def complaint(self, code: int) -> str:
        """Why the process ended: in its own words, or by its exit code."""
        try:
            said = self.log.read_bytes()[-LOG_TAIL:].decode("utf-8", "replace")
        except OSError:
            said = ""
        if found := ERROR.findall(said):
            return self.without_place(re.sub(r"\n +", "\n", str(found[-1])))
        if code < 0:
            return f"the training process was ended from outside, by signal {-code}"
        return f"the training process ended with code {code}"

    def without_place(self, text: str) -> str:
        """A text in which this machine's folders are not told, only the last of them."""
        return text.replace(str(self.folder), self.folder.name)
