"""One tree of errors: what is wrong, where, what to do."""

import pytest

from jumok import errors
from jumok.errors import (
    ConfigError,
    DataError,
    Error,
    LimitError,
    ModelError,
    RunError,
    ThresholdError,
    TokenizerFileError,
    nearest,
    ran_out_of_memory,
)

CODES = {
    Error: (1, "failed"),
    ConfigError: (2, "bad_config"),
    LimitError: (2, "too_large"),
    DataError: (3, "bad_data"),
    ModelError: (3, "bad_model"),
    TokenizerFileError: (3, "bad_tokenizer"),
    ThresholdError: (4, "threshold"),
    RunError: (1, "failed"),
}


@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
def test_each_error_has_its_exit_code_and_its_word(kind: type[Error]) -> None:
    error = kind("no")
    assert (error.exit_code, error.code) == CODES[kind]
    assert isinstance(error, Error)


def test_the_table_knows_every_error() -> None:
    every = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Error)}
    assert every == set(CODES)


def test_the_docstring_shows_every_error() -> None:
    for kind in CODES:
        assert kind.__name__ in errors.__doc__


def test_an_error_reads_as_what_where_and_what_to_do() -> None:
    error = DataError("a.en has 3 lines and a.de has 4", where="a.de:4", hint="look for a line break")
    assert str(error) == "a.en has 3 lines and a.de has 4\n  a.de:4\n  look for a line break"
    assert (error.message, error.where, error.hint) == (
        "a.en has 3 lines and a.de has 4",
        "a.de:4",
        "look for a line break",
    )


def test_the_field_is_for_programs_and_not_in_the_text() -> None:
    error = ConfigError("layer 9 does not exist", field="interventions.0.layer")
    assert (str(error), error.field) == ("layer 9 does not exist", "interventions.0.layer")
    assert ConfigError("no").field is None


def test_parts_that_are_not_given_leave_no_blank_lines() -> None:
    assert str(RunError("stopped")) == "stopped"
    assert str(RunError("stopped", hint="go on")) == "stopped\n  go on"


def test_a_code_of_its_own_replaces_the_default() -> None:
    assert RunError("stopped", code="disk_full").code == "disk_full"


def test_wrong_settings_are_value_errors_too() -> None:
    assert issubclass(ConfigError, ValueError)
    assert issubclass(LimitError, ValueError)


def test_nearest_offers_the_closest_name() -> None:
    assert nearest("training.lrr", ["training.lr", "model.width"]) == "did you mean 'training.lr'?"


def test_nearest_lists_all_names_when_none_is_close() -> None:
    assert nearest("zzz", ["rnn", "luong"]) == "known: luong, rnn"


@pytest.mark.parametrize(
    ("error", "ran_out"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes."), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."), True),
        (RuntimeError("shapes differ"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_out_of_memory_is_known_by_its_class_or_its_words(error: Exception, ran_out: bool) -> None:  # noqa: FBT001
    assert ran_out_of_memory(error) is ran_out
