"""Where results go: standard output, or a file that appears only when it is whole."""

import errno
import gzip
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import click

from jumok.errors import ConfigError, RunError


@contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """A stream for bytes; "-" is standard output, `.gz` is packed.

    A file is written to a temporary neighbour that takes its place at the end; if anything fails, what was
    there before stays. Devices and pipes are written as they are.
    """
    if path == "-":
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            # The reader went away (`| head`): nothing is wrong, and Python must not complain at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None
        return
    place, ordinary = _place_of(path)
    written = _neighbour(place) if ordinary else place
    if ordinary:
        _check_writable(written, path)
    try:
        with written.open("wb") as raw:
            if path.endswith(".gz"):  # no name and no time inside: the same lines give the same file
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield raw
        if ordinary:
            os.replace(written, place)
    except BrokenPipeError:
        raise
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise RunError(
            f"cannot write {path}: {error.strerror}",
            hint="make room on the disk, or choose another place with -o",
            code="disk_full" if full else "io_error",
        ) from error
    finally:
        if ordinary:
            written.unlink(missing_ok=True)


def check_output(path: str) -> None:
    """Refuse a place that cannot be written to, before the work for it begins."""
    place, ordinary = _place_of(path)
    if ordinary:
        tried = _neighbour(place)
        _check_writable(tried, path)
        tried.unlink()


def _place_of(path: str) -> tuple[Path, bool]:
    """Where a file goes, and whether it is an ordinary one: no device and no pipe."""
    place = Path(path).resolve()
    if place.is_dir():
        raise ConfigError(f"{path} is a folder", hint="name a file for the output", code="unwritable")
    return place, place.is_file() or not place.exists()


def _neighbour(place: Path) -> Path:
    return place.with_name(f"{place.name}.tmp-{secrets.token_hex(4)}")


def _check_writable(written: Path, path: str) -> None:
    try:
        written.open("ab").close()
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: {error.strerror}",
            hint="choose a folder that exists and that you may write to",
            code="unwritable",
        ) from None
