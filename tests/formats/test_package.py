import io
import struct
import zipfile
from pathlib import Path

import pytest

from jumok.errors import DataError
from jumok.formats import package as module
from jumok.formats.docx import DocxFormat
from jumok.formats.package import Package, write_package


def packed(path: Path, parts: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def test_parts_that_nobody_walks_keep_bytes_order_dates_and_compression(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = b"by hand"
        archive.writestr(zipfile.ZipInfo("mimetype", (2001, 2, 3, 4, 5, 6)), b"words")
        archive.writestr("vbaProject.bin", bytes(range(256)) * 400, zipfile.ZIP_DEFLATED)
        archive.writestr("a/b/", b"")
    out = io.BytesIO()
    write_package(path, out, iter(()), lambda _: {})
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out) as new:
        assert new.comment == b"by hand"
        for one, other in zip(old.infolist(), new.infolist(), strict=True):
            assert (one.filename, one.date_time, one.compress_type) == (
                other.filename,
                other.date_time,
                other.compress_type,
            )
            assert old.read(one) == new.read(other)


def test_a_part_that_answers_may_make_longer_than_2_gib_has_room_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The places for its size are those of zip64, which are written before the part."""
    path, listed = packed(tmp_path / "a.zip", {"part": b"data"}, zipfile.ZIP_STORED), zipfile.ZipFile.infolist
    monkeypatch.setattr(module, "MOST_RATIO", 1 << 40)
    for size, version in ((4, 20), (3 << 29, 45)):

        def infolist(file: zipfile.ZipFile, size: int = size) -> list[zipfile.ZipInfo]:
            (entry,) = listed(file)
            entry.file_size = size
            return [entry]

        out = io.BytesIO()
        with monkeypatch.context() as inside:
            inside.setattr(zipfile.ZipFile, "infolist", infolist)
            write_package(path, out, iter(()), lambda _: {})
        with zipfile.ZipFile(out) as made:
            assert (made.read("part"), made.getinfo("part").extract_version) == (b"data", version)


def test_an_answer_too_many_is_an_error(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.zip", {"a": b"x"})
    with pytest.raises(DataError, match="more answers than segments"):
        write_package(path, io.BytesIO(), iter([None]), lambda _: {})


def test_what_unpacks_to_too_much_is_refused_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "bomb.docx", {"word/document.xml": b"\0" * (80 << 20)})
    with pytest.raises(
        DataError, match="83,886,080 bytes out of .*more than 200 times.*\n.*\n  this looks like a zip"
    ):
        Package(path)
    monkeypatch.setattr(module, "MOST_UNPACKED", 1000)
    with pytest.raises(DataError, match="1 parts of 83,886,080 bytes; at most 1,000 are read"):
        Package(path)


def test_parts_over_one_another_are_refused_by_their_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred names for the same bytes: a bomb whose every part is harmless."""
    path = packed(tmp_path / "a.zip", {"a": b"\0" * (1 << 20)})
    data = path.read_bytes()
    begin, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry = bytearray(data[begin:end])
    entry[28:30] = struct.pack("<H", 2)  # the length of a name
    entries = b"".join(entry[:46] + b"%02d" % n + entry[47:] for n in range(100))
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 100, 100, len(entries), begin, 0)
    path.write_bytes(data[:begin] + entries + tail)
    with pytest.raises(DataError, match="unpack to 104,857,600 bytes out of"):
        Package(path)
    monkeypatch.setattr(module, "MOST_RATIO", 2000)  # more than of each part by itself
    with pytest.raises(DataError, match="unpack to 104,857,600 bytes out of .*more than 2000 times"):
        Package(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04 cut", "not a sound zip file"),
        (b"plain words", "not a sound zip file"),
        (
            bytes.fromhex("D0CF11E0A1B11AE1") + b"\0" * 600,
            "a document of Office 97 to 2003\n.*\n  open it and save it",
        ),
        (
            bytes.fromhex("D0CF11E0A1B11AE1") + "EncryptedPackage".encode("utf-16-le"),
            "protected by a password\n.*\n  open it, take the password off",
        ),
    ],
)
def test_what_is_no_package(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message):
        list(DocxFormat().read(path))


def test_unsound_lists_of_parts(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.docx", {"../a": b"x"})
    with pytest.raises(DataError, match=r"leads outside of the document\n.*part \.\./a"):
        Package(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a", b"2")
    with pytest.raises(DataError, match="two parts have one name"):
        Package(path)
    data = bytearray(packed(path, {"a": b"x"}).read_bytes())
    data[data.index(b"PK\x01\x02") + 10] = 99
    path.write_bytes(data)
    with pytest.raises(DataError, match="compressed in an unknown way, 99\n.*part a"):
        Package(path)
    data = bytearray(packed(path, {"a": b"x"}).read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="protected by a password\n.*part a"):
        Package(path)


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.zip", {"word/a.xml": b"<a/>" * 100, "b": b"x"}, zipfile.ZIP_STORED)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"<a/>", b"<b/>", 1))
    with (
        Package(path) as package,
        pytest.raises(DataError, match="zip is damaged: Bad CRC-32.*\n.*part word/a.xml"),
    ):
        package.open("word/a.xml").read(1 << 20)
    path.write_bytes(data.replace(b"PK\x03\x04", b"PK\x03\x05", 1))
    with Package(path) as package, pytest.raises(DataError, match="zip is damaged: .*\n.*part word/a.xml"):
        package.open("word/a.xml")


def listed(monkeypatch: pytest.MonkeyPatch, sizes: list[tuple[int, int]]) -> None:
    """Zip files say that their parts have these sizes, unpacked and packed; of one size, the same name."""
    entries = {}
    for unpacked, packed in dict.fromkeys(sizes):
        entries[unpacked, packed] = entry = zipfile.ZipInfo(f"part{unpacked}")
        entry.file_size, entry.compress_size = unpacked, packed
    monkeypatch.setattr(zipfile.ZipFile, "infolist", lambda _: [entries[size] for size in sizes])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([(64 << 20, 1)], ""),
        ([(64 << 20, 1), (1, 1)], "would unpack to 67,108,865 bytes out of 2: more than 200 times as much"),
        ([(4 << 30, 4 << 30)], ""),
        (
            [(4 << 30, 4 << 30), (1, 1)],
            "would unpack to 2 parts of 4,294,967,297 bytes; at most 4,294,967,296 are read",
        ),
        ([(0, 0)] * 100_000, "two parts have one name"),
        ([(0, 0)] * 100_001, "would unpack to 100,001 parts of 0 bytes"),
    ],
    ids=["64 MiB", "more", "4 GiB", "more than that", "100,000", "one more"],
)
def test_limits_of_what_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[tuple[int, int]], message: str
) -> None:
    path = packed(tmp_path / "a.zip", {"a": b"x"})
    if sizes[0][0] == 4 << 30:  # though the file is small
        monkeypatch.setattr(module, "MOST_RATIO", 1 << 40)
    listed(monkeypatch, sizes)
    if message:
        with pytest.raises(DataError, match=message):
            Package(path)
    else:
        with Package(path) as package:
            assert package.where("b") == f"{path}, part b"


def test_just_as_many_times_as_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FREE_OF_RATIO", 0)
    path = packed(tmp_path / "a.zip", {"a": b"x"})
    listed(monkeypatch, [(2_000, 10)])
    with Package(path):
        listed(monkeypatch, [(2_001, 10)])
    with pytest.raises(DataError, match="2,001 bytes out of 10: more than 200 times"):
        Package(path)


def test_the_mark_of_a_password_is_looked_for_in_a_mib(tmp_path: Path) -> None:
    mark = "EncryptedPackage".encode("utf-16-le")
    for more, message in ((0, "protected by a password"), (1, "a document of Office 97 to 2003")):
        path = tmp_path / "a.docx"
        path.write_bytes(module.OLD_OFFICE + bytes((1 << 20) - len(mark) + more) + mark)
        with pytest.raises(DataError, match=message):
            Package(path)


def test_what_other_programs_noted_beside_a_part_is_not_copied(tmp_path: Path) -> None:
    entry = zipfile.ZipInfo("a")
    entry.extra = b"\x55\x54\x05\x00\x01abcd"
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(entry, b"x")
    out = io.BytesIO()
    write_package(tmp_path / "a.zip", out, iter(()), lambda _: {})
    with zipfile.ZipFile(tmp_path / "a.zip") as old, zipfile.ZipFile(out) as new:
        assert (old.getinfo("a").extra, new.getinfo("a").extra) == (entry.extra, b"")
