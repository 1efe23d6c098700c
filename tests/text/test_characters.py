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


def test_every_byte_and_the_bounds_of_every_second_one() -> None:
    firsts = (0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4)
    seconds = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1)
    pairs = [[one, two] for one in firsts for two in seconds]
    pairs = [pair for pair in pairs if is_beginning(bytes(pair)) or not 0x80 <= pair[1] < 0xC0]
    for data in (*([one] for one in range(256)), *pairs):
        allowed = [byte for byte in range(256) if is_beginning(bytes([*data, byte]))]
        unfinished = (
            is_beginning(bytes(data)) and len(allowed) < 128
        )  # a whole one is followed by any first byte
        assert list(next_bytes(data) or ()) == (allowed if unfinished else []), data


def test_what_begins_no_character_has_no_following() -> None:
    assert next_bytes([]) is None
    assert next_bytes([0x80, 0x80]) is None
    assert next_bytes([-5, 300]) is None  # tokens that are no bytes
