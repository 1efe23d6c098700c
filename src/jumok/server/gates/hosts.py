"""Which names a server answers to: pages whose name was pointed at its address must not read its answers."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from jumok.errors import ConfigError

Network = IPv4Network | IPv6Network

EVERYONE = "*"
NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_.])?")


class Hosts:
    """The names, addresses and networks that a Host header may have; `*` is all of them."""

    def __init__(self, allowed: Iterable[str]) -> None:
        words = {word.strip().lower() for word in allowed}
        self.everyone = EVERYONE in words
        networks = {word for word in words if "/" in word and "//" not in word}  # http://x is neither
        self.networks = tuple(map(read_network, networks))
        self.names = set(map(host_name, words - networks - {EVERYONE}))

    def admit(self, host: str) -> bool:
        """Whether a Host header, which may have a port, is one of them."""
        name = re.sub(r":[0-9]{1,5}\Z", "", host.lower())
        return self.everyone or name in self.names or self._in_network(name)

    def _in_network(self, name: str) -> bool:
        if not self.networks or (":" in name) != name.startswith("["):
            return False
        try:
            address = ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return any(address in network for network in self.networks)


def host_name(word: str) -> str:
    """A name or address as it stands in a Host header."""
    bare = word.removeprefix("[").removesuffix("]")
    try:
        return bracketed(str(ip_address(bare)))
    except ValueError:
        if NAME.fullmatch(word):
            return word
    raise ConfigError(
        f"{word!r} is not the name of a host",
        hint="write a name, an address, a network such as 10.0.0.0/8, or '*'; no http:// and no port",
    )


def read_network(word: str) -> Network:
    """A network such as 10.0.0.0/8, or an address alone."""
    try:
        return ip_network(word, strict=False)
    except ValueError:
        hint = "write an address and how many of its bits count: 10.0.0.0/8, fd00::/8"
        raise ConfigError(f"{word!r} is not a network", hint=hint) from None


def bracketed(host: str) -> str:
    """An address as it stands in a URL: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
