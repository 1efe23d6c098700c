"""How one server is set up: where it listens, who may ask, and what it may show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from jumok.errors import ConfigError, DataError
from jumok.server.gates.limits import Limits

PORT = 7717
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
SHORTEST_KEY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNotes:
    """What is known about a served model besides the model itself."""

    run: str | None = None
    """Its run, by the name it has among the shown runs."""
    examples: tuple[str, ...] = ()
    """Texts worth trying on it."""
    load_s: float = 0.0
    """How long it took to load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """One server. Checked when made: an open door needs a key, or the word insecure."""

    host: str = "127.0.0.1"
    port: int = PORT
    keys: tuple[str, ...] = ()
    """API keys; none lets everyone in who can reach the address."""
    insecure: bool = False
    """Listen on an address that others can reach although there is no key."""
    allow_origins: tuple[str, ...] = ()
    """Other web origins whose pages may call, such as `https://example.org`."""
    allowed_hosts: tuple[str, ...] = ()
    """More names for this server than those of the loopback address."""
    runs: Path | None = None
    """The folder whose training runs are shown."""
    keep: Path | None = None
    """The folder where traces are kept for links."""
    memory: str = ""
    """A file with translations that are reused, for each model of its languages."""
    remember: Path | None = None
    """The file that corrections are added to; None turns them away."""
    about: Mapping[str, ModelNotes] = field(default_factory=dict)
    """By the name of a model."""
    limits: Limits = field(default_factory=Limits)
    static: Path | None = None
    """The built page; None is the one in the package."""

    def __post_init__(self) -> None:
        if not (is_loopback(self.host) or self.keys or self.insecure):
            raise ConfigError(
                f"host {self.host!r} can be reached from other machines, and there is no API key",
                hint="--api-key-file FILE asks callers for a key; --insecure lets everyone in",
                code="open_without_key",
            )
        for origin in self.allow_origins:
            if not origin.startswith(("http://", "https://")) or origin.count("/") != 2:
                raise ConfigError(
                    f"{origin!r} is not a web origin",
                    hint="write scheme and host, and nothing after them: https://example.org",
                )

    @property
    def hosts(self) -> frozenset[str]:
        """Names that the Host header may have, in lower case and without the port."""
        own = () if self.host in ("0.0.0.0", "::", "") else (bracketed(self.host),)
        return frozenset(name.lower() for name in (*LOOPBACK, *own, *self.allowed_hosts))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bracketed(host: str) -> str:
    """An address as it stands in a URL: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def read_keys(path: str) -> tuple[str, ...]:
    """The keys of a file, one per line; blank lines and lines with # at the start are left out."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DataError(f"cannot read the API keys: {reason}", where=path) from None
    lines = [line.strip() for line in text.split("\n")]
    keys = tuple(line for line in lines if line and not line.startswith("#"))
    if not keys:
        raise ConfigError(
            "the file has no API key",
            where=path,
            hint="write one key per line: openssl rand -hex 32 makes one",
        )
    if short := [key for key in keys if len(key) < SHORTEST_KEY or not key.isascii()]:
        raise ConfigError(
            f"{len(short)} of {len(keys)} API keys cannot be used",
            where=path,
            hint=f"a key has at least {SHORTEST_KEY} ASCII characters: openssl rand -hex 32 makes one",
        )
    return keys
