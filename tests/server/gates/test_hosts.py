"""Names that a server answers to: names, addresses, networks, all; and words that are none of these."""

import pytest

from jumok.errors import ConfigError
from jumok.server.gates.hosts import Hosts, bracketed, host_name, read_network

INSIDE = [
    "10.0.0.1",
    "10.255.1.2:7717",
    "[fd00::1]",
    "[fd00::1]:7717",
    "mt.example.org",
    "MT.example.org:443",
]
OUTSIDE = ["11.0.0.1", "[fe80::1]", "fd00::1", "10.1", "010.0.0.1", "10.0.0.1.nip.io", "[10.0.0.1", "x", ""]


def test_names_and_networks() -> None:
    hosts = Hosts(("mt.example.org", "10.0.0.0/8", "fd00::/8"))
    assert [host for host in INSIDE if not hosts.admit(host)] == []
    assert [host for host in OUTSIDE if hosts.admit(host)] == []


def test_a_star_is_every_name() -> None:
    hosts = Hosts(("*",))
    assert all(hosts.admit(host) for host in (*INSIDE, *OUTSIDE))
    assert not Hosts(()).admit("localhost")


def test_an_address_is_itself_however_it_is_written() -> None:
    hosts = Hosts(("fd00:0::1", "[FD00::2]", "192.168.1.5"))
    assert all(hosts.admit(host) for host in ("[fd00::1]", "[fd00::2]:80", "192.168.1.5:80"))
    assert not hosts.admit("192.168.1.50")
    assert bracketed("::1") == bracketed("[::1]") == "[::1]"
    assert str(read_network("10.1.2.3/8")) == "10.0.0.0/8"


@pytest.mark.parametrize(
    "word", ["a.org:80", "https://a.org", "http:", "", "*.example.org", "a b", "한국", "-a", "a" * 254]
)
def test_what_is_no_name_says_so(word: str) -> None:
    with pytest.raises(ConfigError, match="is not the name of a host") as found:
        host_name(word)
    assert "a network such as 10.0.0.0/8, or '*'" in found.value.hint


@pytest.mark.parametrize("word", ["10.0.0.0/33", "a/b", "/8"])
def test_what_is_no_network_says_so(word: str) -> None:
    with pytest.raises(ConfigError, match="is not a network") as found:
        Hosts((word,))
    assert found.value.hint == "write an address and how many of its bits count: 10.0.0.0/8, fd00::/8"
