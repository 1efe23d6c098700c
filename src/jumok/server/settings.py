"""How one server is set up: where it listens, who may ask, and what it may show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.errors import ConfigError, DataError
from jumok.server.gates.hosts import Hosts, read_network
from jumok.server.gates.limits import Limits

if TYPE_CHECKING:
    from jumok.decoding.translator import Translator

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
    aliases: tuple[str, ...] = ()
    """Names that it has on the command line, too; a model that is served under one of them comes first."""
    load_s: float = 0.0
    """How long it took to load."""


LoadFolder = Callable[[Path], "tuple[Translator, ModelNotes]"]
"""Loads the model in a folder."""


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
    """More names for this server than those of the loopback address; networks, and `*` for all."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies, which say on whose behalf they ask."""
    runs: Path | None = None
    """The folder whose training runs are shown."""
    train_in: Path | None = None
    """The folder that models trained from the page go into, whose runs are shown, too; None trains none."""
    allow_training: bool = False
    """Train for clients on other machines, too."""
    load: LoadFolder | None = None
    """How the model of such a run is loaded; None as `jumok.load` does."""
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
    opened: Callable[[], object] = lambda: None
    """Called whenever somebody opens the page."""

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

        for proxy in self.trusted_proxies:
            read_network(proxy)
        self.hosts()  # refuses what is no name

    @property
    def trains(self) -> bool:
        """Whether models may be trained: for this machine alone, unless it is allowed for others."""
        others = self.allowed_hosts or self.trusted_proxies or self.allow_origins
        here = is_loopback(self.host) and not others
        return self.train_in is not None and (self.allow_training or here)

    def hosts(self) -> Hosts:
        """What the Host header may be."""
        own = () if self.host in ("0.0.0.0", "::", "") else (self.host,)
        return Hosts((*LOOPBACK, *own, *self.allowed_hosts))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


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
