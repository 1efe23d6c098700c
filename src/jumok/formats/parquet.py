"""Parquet: columns of texts, read some rows at a time with pyarrow."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jumok.errors import ConfigError, DataError
from jumok.formats.files import grows_too_much, growth_limit, open_bytes
from jumok.formats.units import NamedTexts

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1_000  # read together


def read_parquet(path: str, name: str) -> Iterator[NamedTexts]:
    """The rows, each a text by column; of a column `translation` with fields, an object.

    ConfigError: pyarrow is not installed. DataError: the file is no parquet, or damaged.
    """
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ConfigError(
            "parquet files need the package pyarrow",
            hint='install it: pip install "jumok[corpora]"; or save the file as CSV or JSONL',
            code="not_installed",
        ) from None
    number = 0
    try:
        with open_bytes(path) as opened, ParquetFile(opened) as file:
            size = opened.seek(0, 2)
            groups = (file.metadata.row_group(group) for group in range(file.metadata.num_row_groups))
            if sum(group.total_byte_size for group in groups) > growth_limit(size):
                raise grows_too_much(growth_limit(size), name, "parquet_bomb")
            columns = [field.name for field in file.schema_arrow if _has_text(field.type)]
            if not columns:
                raise _fault("no column holds texts", name, 0, "save the texts as strings")
            for batch in file.iter_batches(ROWS, columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    yield NamedTexts(number, {key: _filled(value) for key, value in row.items()})
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        reason = str(error).split("\n")[0][:120]
        raise _fault(f"not a sound parquet file: {reason}", name, number, "copy it again") from None


def _has_text(kind: "pa.DataType") -> bool:
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return _has_text(kind.value_type)
    if types.is_struct(kind):
        return any(_has_text(kind.field(place).type) for place in range(kind.num_fields))
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _filled(value: Any) -> Any:
    """A text that is missing is ""."""
    if isinstance(value, dict):
        return {key: _filled(one) for key, one in value.items()}
    return "" if value is None else value


def _fault(message: str, name: str, number: int, hint: str) -> DataError:
    where = f"{name}, after row {number:,}" if number else name
    return DataError(message, where=where, hint=hint, code="bad_parquet")
