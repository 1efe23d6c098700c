"""Reads what a wheel's library is: its machine, its functions, and what it asks the system for.

Just enough of the three formats (ELF of Linux, Mach-O of Apple, PE of Windows) to refuse a library that was
built for another machine, lacks a function or needs something that the machine may not have.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
MACH_MACHINES = {0x01000007: "x86_64", 0x0100000C: "arm64"}
PE_MACHINES = {0x8664: "amd64"}


@dataclass(frozen=True)
class Binary:
    """A shared library."""

    format: str
    machine: str
    functions: frozenset[str]
    needs: frozenset[str]
    """Other libraries that the system must have."""
    oldest: str = ""
    """The oldest system that has all it needs: of glibc or macOS; "" where nothing says so."""


def read_binary(path: Path) -> Binary:
    """The library at a path; a ValueError if it is none."""
    data = path.read_bytes()
    try:
        if data[:4] == b"\x7fELF":
            return read_elf(data)
        if data[:4] == b"\xcf\xfa\xed\xfe":
            return read_mach(data)
        if data[:2] == b"MZ":
            return read_pe(data)
    except (struct.error, IndexError, KeyError) as error:
        raise ValueError(f"{path.name} is damaged or for no machine that we know: {error!r}") from None
    raise ValueError(f"{path.name} is no shared library")


def text_at(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def read_elf(data: bytes) -> Binary:
    machine = ELF_MACHINES[struct.unpack_from("<H", data, 18)[0]]
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + n * size) for n in range(count)]
    functions, needs, versions = set(), set(), []
    for _, kind, _, _, at, length, link, info, _, each in sections:
        names = sections[link][4] if link < count else 0
        if kind == 11:  # symbols for other files
            for here in range(at, at + length, each):
                name, bits, _, section = struct.unpack_from("<IBBH", data, here)
                if section and bits & 15 == 2:
                    functions.add(text_at(data, names + name))
        elif kind == 6:  # what the loader is told
            for here in range(at, at + length, 16):
                tag, value = struct.unpack_from("<QQ", data, here)
                if tag == 1:
                    needs.add(text_at(data, names + value))
        elif kind == 0x6FFFFFFE:  # versions that are asked for
            for _ in range(info):
                _, more, _, first, following = struct.unpack_from("<HHIII", data, at)
                place = at + first
                for _ in range(more):
                    _, _, _, name, after = struct.unpack_from("<IHHII", data, place)
                    versions.append(text_at(data, names + name))
                    place += after
                at += following
    numbers = [tuple(map(int, one[6:].split("."))) for one in versions if one.startswith("GLIBC_2.")]
    oldest = ".".join(map(str, max(numbers))) if numbers else ""
    return Binary("ELF", machine, frozenset(functions), frozenset(needs), oldest)


def read_mach(data: bytes) -> Binary:
    _, kind, _, _, count = struct.unpack_from("<IIIII", data, 0)
    machine, place = MACH_MACHINES[kind], 32
    functions, needs, oldest = set(), set(), ""
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, place)
        if command == 0x2:  # the table of symbols
            symbols, number, names = struct.unpack_from("<III", data, place + 8)
            for here in range(symbols, symbols + 16 * number, 16):
                name, bits, section = struct.unpack_from("<IBB", data, here)
                if bits & 1 and section:  # seen from outside, and defined here
                    functions.add(text_at(data, names + name).removeprefix("_"))
        elif command == 0xC:  # another library
            needs.add(text_at(data, place + struct.unpack_from("<I", data, place + 8)[0]))
        elif command in (0x32, 0x24):  # LC_BUILD_VERSION, LC_VERSION_MIN_MACOSX
            (least,) = struct.unpack_from("<I", data, place + (12 if command == 0x32 else 8))
            oldest = f"{least >> 16}.{least >> 8 & 255}"
        place += size
    return Binary("Mach-O", machine, frozenset(functions), frozenset(needs), oldest)


def read_pe(data: bytes) -> Binary:
    (head,) = struct.unpack_from("<I", data, 0x3C)
    kind, sections = struct.unpack_from("<HH", data, head + 4)
    machine = PE_MACHINES[kind]
    (optional,) = struct.unpack_from("<H", data, head + 20)
    table = head + 24 + optional
    spans = [struct.unpack_from("<IIII", data, table + 40 * n + 8) for n in range(sections)]

    def place(address: int) -> int:
        """Where something lies in the file, by where it will lie in memory."""
        begin, at = next((v, p) for size, v, raw, p in spans if v <= address < v + max(size, raw))
        return address - begin + at

    exports, _, imports = struct.unpack_from("<III", data, head + 24 + 112)
    functions, needs = set(), set()
    if exports:
        number, _, names = struct.unpack_from("<III", data, place(exports) + 24)
        for n in range(number):
            functions.add(text_at(data, place(struct.unpack_from("<I", data, place(names) + 4 * n)[0])))
    here = place(imports) if imports else None
    while here is not None and (name := struct.unpack_from("<I", data, here + 12)[0]):
        needs.add(text_at(data, place(name)).lower())
        here += 20
    return Binary("PE", machine, frozenset(functions), frozenset(needs))
