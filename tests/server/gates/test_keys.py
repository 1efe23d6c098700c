"""API keys."""

from hypothesis import given
from hypothesis import strategies as st

from jumok.server.gates.keys import Keys, token


def test_no_keys_are_falsy_and_admit_no_one() -> None:
    assert not Keys(())
    assert not Keys(()).admit("")


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.text())
def test_only_a_key_is_admitted(keys: list[str], other: str) -> None:
    found = Keys(keys)
    assert all(found.admit(key) for key in keys)
    assert found.admit(other) == (other in keys)


def test_a_token_is_taken_from_the_header() -> None:
    assert token("Bearer abc") == "abc"
    assert token("Basic dXNlcjphOmI=") == "a:b"
    assert token("Digest x") == token("") == token("Basic ???") == ""
