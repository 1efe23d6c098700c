"""A run's folder: what was asked, what was decided, and whether going on would be the same run.

config.toml      the complete configuration          metrics.jsonl   events
run.json         what was asked, and of which data    samples.jsonl   validation samples over time
checkpoints/     the saved steps                      data/           tokenizer and token stores
start/           the model that it started from, if it did
probes/          attention at each validation
eval/            results of `jumok evaluate`          tensorboard/    curves
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from jumok.checkpoint.folder import replace_file, run_lock
from jumok.config import RunConfig
from jumok.errors import ConfigError, DataError
from jumok.run.plan import Choice
from jumok.seals import sealed, unsealed
from jumok.settings import (
    SETTINGS_VERSION,
    Flat,
    config_to_toml,
    nest,
    parse_config,
    read_toml,
    upgrade_settings,
    with_new_names,
)

# Settings that may differ when a run goes on: they change when it looks, saves and ends, not what it learns.
FREE = {
    "training.max_steps",
    "training.time_limit",
    "training.log_every",
    "training.validate_every",
    "training.early_looks",
    "training.save_every",
    "training.patience",
    "training.threads",
    "training.shard",
    "training.valid_sentences",
    "data.source",
    "data.target",
    "data.valid_source",
    "data.valid_target",
}


@dataclass(frozen=True)
class RunFolder:
    """The files of one run besides its checkpoints."""

    path: Path

    @property
    def exists(self) -> bool:
        return (self.path / "config.toml").is_file() and (self.path / "run.json").is_file()

    def check_usable(self) -> None:
        """Refuse a folder that holds something else."""
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(f"{self.path} is a file", hint="give a folder for the run with --out")
        if self.path.is_dir() and not self.exists and any(map(strange, self.path.iterdir())):
            raise ConfigError(
                f"{self.path} is not empty and holds no run",
                hint="choose another folder with --out, or empty this one",
                code="not_a_run",
            )

    def set_aside(self) -> Path | None:
        """Make room for a fresh run; the earlier one is renamed, never deleted, nor taken from a trainer."""
        if not self.exists:
            return None
        if self.path.resolve() == Path.cwd():
            raise ConfigError(
                "--fresh cannot rename the folder that you are in", hint="go to another folder first"
            )
        number = 1
        while (other := self.path.with_name(f"{self.path.name}.before-{number}")).exists():
            number += 1
        with run_lock(self.path):
            self.path.rename(other)
        return other

    def write(self, config: RunConfig, fingerprint: str, choices: tuple[Choice, ...]) -> None:
        record = {
            "format_version": 1,
            "settings_version": SETTINGS_VERSION,
            "data_fingerprint": fingerprint,
            "plan": [[choice.key, choice.value, choice.reason] for choice in choices],
            "config_sha256": sha256(settings := config_to_toml(config).encode()).hexdigest(),
        }
        data = json.dumps(sealed(record), indent=1, ensure_ascii=False).encode()
        replace_file(self.path / "run.json", data)
        replace_file(self.path / "config.toml", settings)

    def record(self) -> dict[str, Any]:
        """What `write` noted; refuses what was changed since, and settings that were."""
        file, settings = self.path / "run.json", self.path / "config.toml"
        try:
            record: dict[str, Any] = dict(unsealed(json.loads(file.read_bytes())))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise changed(file, str(error)) from None
        noted = record.get("config_sha256")  # an earlier version noted none
        if noted is not None and sha256(settings.read_bytes()).hexdigest() != noted:
            raise changed(settings, "it has not the SHA-256 that run.json notes")
        return record

    def settings(self) -> Flat:
        """The settings that the run began with, by full name."""
        record, file = self.record(), read_toml(self.path / "config.toml")
        return with_new_names(upgrade_settings(file, record.get("settings_version")))

    def read(self, given: Mapping[str, Any]) -> RunConfig:
        """The run's own configuration, with the free settings as given now; refuses any other difference."""
        stored = self.settings()
        changes = {key: value for key, value in with_new_names(given).items() if value != stored.get(key)}
        if changes.get("training.precision") == "auto":
            del changes["training.precision"]  # what the plan has found to be fastest stays
        for key, value in changes.items():
            if key not in FREE and not key.startswith("decoding."):
                raise ConfigError(
                    f"the run in {self.path} was started with {key}={stored.get(key)!r}, not {value!r}",
                    hint="repeat the first command to go on, choose another --out or start over with --fresh",
                    code="other_settings",
                )
        merged: Flat = stored | changes
        return parse_config(nest(merged), f"in {self.path / 'config.toml'}")

    def has_other_data(self, fingerprint: str, *, allowed: bool) -> bool:
        """Whether the data is another one than the run began with, which is refused unless it is allowed."""
        before = self.record().get("data_fingerprint")
        if before != fingerprint and not allowed:
            raise DataError(
                f"the data has changed since the run in {self.path} began",
                where=f"then sha256 {before}\n  now  sha256 {fingerprint}",
                hint="restore the files, or pass --allow-data-change; to teach its model something new, "
                f"start another run from it: jumok train --from {self.path} --out …",
                code="data_changed",
            )
        return bool(before != fingerprint)


def changed(file: Path, reason: str) -> ConfigError:
    """The error for a file that a run cannot go on with."""
    return ConfigError(
        f"{file.name} was changed since the run began, or is damaged: {reason}",
        where=str(file),
        hint="copy it back from where it was whole, give other settings on the command line, "
        "or start over with --fresh",
        code="changed",
    )


def strange(entry: Path) -> bool:
    """Whether a file is none of those that a run has before it is complete, however it was broken off."""
    return entry.name not in (".lock", "run.json") and ".tmp-" not in entry.name
