"""Which bytes go on a character: held to Python's own decoder."""

from hypothesis import given
from hypothesis import strategies as st

from jumok.text.characters import next_bytes


def is_beginning(data: bytes) -> bool:
    """Whether some bytes behind these make them UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


@given(st.characters(exclude_categories=["Cs"]))
def test_a_character_is_unfinished_until_its_last_byte(character: str) -> None:
    data = character.encode()
    for end in range(1, len(data)):
        following = next_bytes(list(data[:end]))
        assert following is not None
        allowed = [byte for byte in range(256) if is_beginning(data[:end] + bytes([byte]))]
        assert list(following) == allowed
    assert next_bytes(list(data)) is None


def test_what_begins_no_character_has_no_following() -> None:
    assert next_bytes([]) is None
    assert next_bytes([0x80, 0x80]) is None
    assert next_bytes([-5, 300]) is None  # tokens that are no bytes
