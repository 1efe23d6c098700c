"""Settings: no open door by accident, and keys that are keys."""

from pathlib import Path

import pytest

from jumok.errors import ConfigError, DataError
from jumok.server.settings import ServerSettings, is_loopback, read_keys

KEY = "0123456789abcdef"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"])
def test_loopback_needs_no_key(host: str) -> None:
    assert is_loopback(host)
    assert ServerSettings(host=host).host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "", "localhost.example.org"])
def test_another_address_needs_a_key_or_a_word(host: str) -> None:
    with pytest.raises(
        ConfigError, match="can be reached from other machines, and there is no API key"
    ) as found:
        ServerSettings(host=host)
    assert found.value.hint == "--api-key-file FILE asks callers for a key; --insecure lets everyone in"
    assert ServerSettings(host=host, keys=(KEY,)).keys == (KEY,)
    assert ServerSettings(host=host, insecure=True).insecure


def test_names_of_the_server() -> None:
    assert ServerSettings().hosts().names == {"localhost", "127.0.0.1", "[::1]"}
    there = ServerSettings(host="192.168.1.5", insecure=True, allowed_hosts=("Jumok.Example.ORG",))
    assert there.hosts().names == {"localhost", "127.0.0.1", "[::1]", "192.168.1.5", "jumok.example.org"}
    assert "0.0.0.0" not in ServerSettings(host="0.0.0.0", insecure=True).hosts().names
    with pytest.raises(ConfigError, match="'http://x' is not the name of a host"):
        ServerSettings(allowed_hosts=("http://x",))


def test_a_proxy_is_an_address_or_a_network() -> None:
    assert ServerSettings(trusted_proxies=("127.0.0.1", "10.0.0.0/8", "::1"))
    with pytest.raises(ConfigError, match="'nginx' is not a network"):
        ServerSettings(trusted_proxies=("nginx",))


@pytest.mark.parametrize("origin", ["*", "example.org", "https://example.org/", "file://x", "https://a/b"])
def test_an_origin_is_scheme_and_host(origin: str) -> None:
    with pytest.raises(ConfigError, match="is not a web origin"):
        ServerSettings(allow_origins=(origin,))
    assert ServerSettings(allow_origins=("https://example.org:8443",))


def test_keys_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# for the laptop\n{KEY}\n\n  {KEY}b \n", encoding="utf-8")
    assert read_keys(str(file)) == (KEY, KEY + "b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file has no API key"),
        (b"# nothing\n\n", "the file has no API key"),
        (b"short\n", "1 of 1 API keys cannot be used"),
        ("열쇠는열여섯글자보다길어야합니다\n".encode(), "1 of 1 API keys cannot be used"),
        (b"\xff\xfe\n", "cannot read the API keys: it is not UTF-8"),
    ],
)
def test_files_without_good_keys(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "keys"
    file.write_bytes(content)
    with pytest.raises((ConfigError, DataError), match=message):
        read_keys(str(file))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read the API keys: No such file"):
        read_keys(str(tmp_path / "none"))


def test_models_are_trained_for_this_machine_unless_it_is_allowed_for_others(tmp_path: Path) -> None:
    assert ServerSettings(train_in=tmp_path).trains
    assert not ServerSettings().trains
    for others in ({"allowed_hosts": ("x.org",)}, {"trusted_proxies": ("10.0.0.1",)}, {"host": "0.0.0.0"}):
        assert not ServerSettings(train_in=tmp_path, keys=(KEY,), **others).trains  # type: ignore[arg-type]
    assert ServerSettings(train_in=tmp_path, keys=(KEY,), host="0.0.0.0", allow_training=True).trains
