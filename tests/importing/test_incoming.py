from dataclasses import replace

from tests.importing.conftest import Make

from jumok.importing.brought import BroughtFolder
from jumok.importing.transformers_folder import read_transformers


def test_settings_leave_room_for_what_stands_around_a_sentence(brought: Make) -> None:
    incoming = read_transformers(BroughtFolder(brought("bart")), ("en", "en"))
    config = incoming.run_config()
    assert config.model.table_rows == 64
    assert config.data.max_length == 64 - 5  # <s> … </s>, <s> before answers, and one to spare
    assert config.decoding.max_len == config.data.max_length
    assert config.text.shared
    assert config.text.vocabulary == incoming.tokenizers.target.size
    assert replace(incoming, beam=3).run_config().decoding.beam == 3
    assert replace(incoming, beam=10**9).run_config().decoding.beam == 4096
