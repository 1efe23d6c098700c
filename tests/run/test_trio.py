"""The models that come with the package load, fit the promised size, and do what the page says they do."""

import pytest

from jumok.checkpoint.manifest import verify_folder
from jumok.config import ARCHS
from jumok.decoding.translator import load
from jumok.run.trio import EXAMPLES, bundled


def test_there_is_one_of_each_generation_and_nothing_in_them_has_changed() -> None:
    assert tuple(bundled()) == ARCHS
    for folder in bundled().values():
        assert list(verify_folder(folder)) == []


def test_together_they_are_small_enough_to_ship() -> None:
    files = [file for folder in bundled().values() for file in folder.iterdir()]
    assert sum(file.stat().st_size for file in files) < 2_100_000


@pytest.mark.parametrize("arch", ["luong", "transformer"])
def test_with_attention_the_long_sentence_is_read_to_its_end(arch: str) -> None:
    model = load(bundled()[arch])
    assert model.translate(EXAMPLES[0]).text == "1998-03-24"
    assert model.translate(EXAMPLES[3]).text == "1998-03-24T20:35/1998-11-09T07:12"


def test_the_fixed_vector_reads_a_short_date_and_loses_the_long_one() -> None:
    model = load(bundled()["rnn"])
    assert model.translate("5. März 2024").text == "2024-03-05"
    assert model.translate(EXAMPLES[3]).text != "1998-03-24T20:35/1998-11-09T07:12"
