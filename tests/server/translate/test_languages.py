"""Names of languages."""

import pytest

from jumok.server.translate.languages import NAMES, language_name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("ko", "Korean"),
        ("KO", "Korean"),
        ("zh-Hant", "Chinese"),
        ("pt_BR", "Portuguese"),
        ("iso8601", "iso8601"),
    ],
)
def test_a_code_has_a_name(code: str, name: str) -> None:
    assert language_name(code) == name


def test_no_two_languages_share_a_name() -> None:
    assert len(set(NAMES.values())) == len(NAMES)
