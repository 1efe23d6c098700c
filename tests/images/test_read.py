"""Pictures from files, zips and data URLs: always a square of RGB bytes, or an error that says why not."""

import base64
import struct
import subprocess
import sys
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from jumok.errors import DataError
from jumok.images import read
from jumok.images.read import decode_picture, locate, read_picture, to_data_url

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def png(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def plain(color: tuple[int, ...] = RED, size: tuple[int, int] = (6, 6), mode: str = "RGB") -> Image.Image:
    return Image.new(mode, size, color)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "red.png").write_bytes(png(plain()))
    return tmp_path / "pictures"


@given(arrays(np.uint8, (5, 5, 3)))
def test_a_picture_of_the_right_size_stays_as_it_is(picture: np.ndarray) -> None:
    assert (read_picture(to_data_url(picture), 5) == picture).all()


@pytest.mark.parametrize(
    ("mode", "color"), [("L", 76), ("RGB", RED), ("RGBA", (*RED, 255)), ("CMYK", (0, 255, 255, 0))]
)
def test_any_mode_becomes_rgb(mode: str, color: object) -> None:
    kind = "TIFF" if mode == "CMYK" else "PNG"
    picture = decode_picture(png(Image.new(mode, (9, 4), color), kind), 4, "x")
    assert picture.shape == (4, 4, 3)
    assert picture.dtype == np.uint8
    expected = (76, 76, 76) if mode == "L" else RED
    assert (picture == expected).all()


def test_palettes_bits_and_sixteen_bits_are_read() -> None:
    assert (decode_picture(png(plain().convert("P"), "GIF"), 4, "x") == RED).all()
    assert (decode_picture(png(Image.new("1", (4, 4), 1)), 4, "x") == WHITE).all()
    deep = Image.fromarray(np.full((4, 4), 0x8000, dtype=np.uint16))
    assert (decode_picture(png(deep), 4, "x") == 128).all()
    deeper = Image.fromarray(np.full((4, 4), 0x1_0000, dtype=np.int32))  # brighter than 16 bits can say
    assert (decode_picture(png(deeper, "TIFF"), 4, "x") == WHITE).all()


def test_what_is_transparent_is_white() -> None:
    clear = decode_picture(png(plain((255, 0, 0, 0), mode="RGBA")), 4, "x")
    assert (clear == WHITE).all()
    palette = plain().convert("P")
    assert (decode_picture(png(palette, transparency=palette.getpixel((0, 0))), 4, "x") == WHITE).all()


def test_the_centre_is_cut_out() -> None:
    wide = plain(BLUE, (30, 10))
    wide.paste(RED, (10, 0, 20, 10))
    assert (decode_picture(png(wide), 10, "x") == RED).all()


def test_a_picture_is_turned_as_its_camera_says() -> None:
    left_red = plain(BLUE, (4, 4))
    left_red.paste(RED, (0, 0, 2, 4))
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by a quarter, clockwise
    turned = decode_picture(png(left_red, exif=exif), 4, "x")
    assert (turned[:2] == RED).all()
    assert (turned[2:] == BLUE).all()


def test_of_an_animation_the_first_frame() -> None:
    data = png(plain(RED), "GIF", save_all=True, append_images=[plain(BLUE)], duration=10)
    assert (decode_picture(data, 4, "x") == RED).all()


def huge(width: int, height: int) -> bytes:
    """A PNG that says it is huge and holds nothing."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))

    def packed(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + b"".join(packed(*chunk) for chunk in chunks)


@pytest.mark.parametrize("side", [8_000, 10_000, 60_000])  # above ours, above the library's two limits
def test_a_bomb_is_refused_before_it_is_unpacked(side: int) -> None:
    with pytest.raises(DataError, match="more than 50 million pixels") as caught:
        decode_picture(huge(side, side), 4, "bomb.png")
    assert caught.value.code == "bad_image"


@given(st.binary(max_size=60))
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    with pytest.raises(DataError) as caught:
        decode_picture(data, 4, "x.png")
    assert caught.value.code == "bad_image"


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("x" * 80, "x" * 80),
        ("x" * 400, "x" * 400),
        ("x" * 401, "x" * 40 + "…"),
        ("data:image/png;base64,AAAA", "data:image/png;base64,AAAA…"),
    ],
)
def test_a_long_name_is_cut_and_a_data_url_is_never_told_as_a_name(name: str, where: str) -> None:
    with pytest.raises(DataError, match="not a picture") as caught:
        decode_picture(b"no", 4, name)
    assert caught.value.where == where


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_picture_that_was_cut_short_is_refused(kind: str, share: float) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    data = png(Image.fromarray(noise), kind)
    with pytest.raises(DataError, match="the picture is damaged or cut short"):
        decode_picture(data[: int(len(data) * share)], 4, "x")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("data:text/html;base64,AAAA", "not a picture as a data URL"),
        ("data:image/png,AAAA", "not a picture as a data URL"),
        ("data:image/png;base64,A$AA", "not sound base64"),
        ("data:image/png;base64,", "not a picture"),
    ],
)
def test_a_data_url_must_be_sound(url: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_picture(url, 4)


def test_a_data_url_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MOST_URL", 100)
    with pytest.raises(DataError, match="the data URL has more than"):
        read_picture("data:image/png;base64," + base64.b64encode(bytes(100)).decode(), 4)


def test_files_that_are_not_there_or_too_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no such picture") as caught:
        read_picture(str(folder / "rad.png"), 4)
    assert "red.png" in caught.value.hint
    with pytest.raises(DataError, match="a folder, not a picture"):
        read_picture(str(folder), 4)
    with pytest.raises(DataError, match="cannot read the picture"):
        read_picture("a\0b", 4)
    monkeypatch.setattr(read, "MOST_BYTES", 10)
    with pytest.raises(DataError, match="the file has more than"):
        read_picture(str(folder / "red.png"), 4)


def zipped(path: Path, entries: list[tuple[str, bytes]]) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries:
            archive.writestr(zipfile.ZipInfo(name), data)
    return str(path)


def test_an_entry_of_a_zip_is_read_by_its_path(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("in/red.png", png(plain())), ("in/", b"")])
    assert (read_picture(f"{path}/in/red.png", 4) == RED).all()
    assert locate(path, "in/red.png") == f"{path}/in/red.png"
    assert locate(path, "in/blue.png") == ""
    with pytest.raises(DataError, match="no such picture in the zip"):
        read_picture(f"{path}/in/rad.png", 4)


def test_a_zip_that_changed_is_read_again(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("x.png", png(plain(RED)))])
    assert (read_picture(f"{path}/x.png", 4) == RED).all()
    zipped(tmp_path / "a.zip", [("more.png", b""), ("x.png", png(plain(BLUE)))])
    assert (read_picture(f"{path}/x.png", 4) == BLUE).all()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([("../x.png", b"")], "leads outside"),
        ([("/x.png", b"")], "leads outside"),
        ([("a/../../x.png", b"")], "leads outside"),
        ([("a\\x.png", b"")], "leads outside"),
        ([("x.png", b"")] * 2, "two entries of one name"),
        ([("x.png", bytes(200))], "the entry has more than"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_hostile_zip_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: list[tuple[str, bytes]], message: str
) -> None:
    monkeypatch.setattr(read, "MOST_BYTES", 100)
    path = zipped(tmp_path / "a.zip", entries)
    with pytest.raises(DataError, match=message):
        read_picture(f"{path}/x.png", 4)


def test_an_encrypted_or_broken_zip_is_refused(tmp_path: Path) -> None:
    path = Path(zipped(tmp_path / "a.zip", [("x.png", b"abc")]))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # the flag of encryption in the directory
    path.write_bytes(data)
    with pytest.raises(DataError, match="encrypted"):
        read_picture(f"{path}/x.png", 4)
    path.write_bytes(b"PK no zip")
    with pytest.raises(DataError, match="not a sound zip file"):
        read_picture(f"{path}/x.png", 4)


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "a/../../b.png", "..\\b.png", "a\0b"])
def test_no_name_leads_outside_the_folder(folder: Path, name: str) -> None:
    with pytest.raises(DataError, match="leads outside") as caught:
        locate(str(folder), name)
    assert caught.value.code == "outside"


def test_a_link_does_not_lead_outside_either(folder: Path) -> None:
    (folder.parent / "secret.png").write_bytes(png(plain()))
    (folder / "link.png").symlink_to(folder.parent / "secret.png")
    with pytest.raises(DataError, match="leads outside"):
        locate(str(folder), "link.png")
    assert locate(str(folder), "red.png") == str(folder / "red.png")
    assert locate(str(folder), "blue.png") == ""


def test_the_library_does_not_warn_beside_the_error() -> None:
    code = """
import sys
from jumok.errors import DataError
from jumok.images.read import decode_picture
try:
    decode_picture(sys.stdin.buffer.read(), 4, "big.png")
except DataError as error:
    print(error.code)
"""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, input=huge(10_000, 10_000), capture_output=True, check=True)
    assert (result.stdout.strip(), result.stderr) == (b"bad_image", b"")


def test_models_of_text_begin_without_pillow() -> None:
    code = "import jumok.decoding.translator, sys; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


IMAGE_ERRORS = {
    "a folder": (
        "{folder}",
        "a folder, not a picture\n  {folder}\n  name a picture in it",
        "is_folder",
    ),
    "a neighbour": (
        "{folder}/rad.png",
        "no such picture\n  {folder}/rad.png\n  did you mean 'red.png'?",
        "no_file",
    ),
    "no folder": ("{folder}/x/a.png", "no such picture\n  {folder}/x/a.png\n  check the path", "no_file"),
    "below a file": (
        "{folder}/red.png/a.png",
        "cannot read the picture: not a directory\n  {folder}/red.png/a.png\n"
        "  check the path and who may read it",
        "unreadable",
    ),
    "no entry": (
        "{folder}/a.zip/rad.png",
        "no such picture in the zip\n  {folder}/a.zip/rad.png\n  did you mean 'red.png'?",
        "no_file",
    ),
    "no entry near": (
        "{folder}/a.zip/cat.jpeg",
        "no such picture in the zip\n  {folder}/a.zip/cat.jpeg\n  it has 1 entries",
        "no_file",
    ),
    "no picture": (
        "{folder}/a.zip",
        "not a picture\n  {folder}/a.zip\n"
        "  files of these kinds can be read: PNG, JPEG, WEBP, GIF, BMP, TIFF, PPM",
        "bad_image",
    ),
    "another url": (
        "data:text/html;base64,AAAA",
        "not a picture as a data URL\n  data:text/html;base64,AAAA…\n  it begins with data:image/png;base64,",
        "bad_image",
    ),
    "base64": (
        "data:image/png;base64,A$AA",
        "the data URL is not sound base64\n  data:image/png;base64,A$AA…\n  copy it again, to its end",
        "bad_image",
    ),
}


@pytest.mark.parametrize("name", IMAGE_ERRORS)
def test_what_is_wrong_with_a_name_is_said_in_full(tmp_path: Path, name: str) -> None:
    (tmp_path / "red.png").write_bytes(png(plain()))
    zipped(tmp_path / "a.zip", [("red.png", png(plain()))])
    asked, said, code = IMAGE_ERRORS[name]
    with pytest.raises(DataError) as caught:
        read_picture(asked.format(folder=tmp_path), 4)
    assert (str(caught.value), caught.value.code) == (said.format(folder=tmp_path), code)


def test_limits_are_the_most_that_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = png(plain())
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    path, held = tmp_path / "red.png", zipped(tmp_path / "a.zip", [("red.png", data)])
    path.write_bytes(data)
    monkeypatch.setattr(read, "MOST_BYTES", len(data))
    monkeypatch.setattr(read, "MOST_URL", len(url))
    monkeypatch.setattr(read, "MOST_PIXELS", 36)
    for name in (str(path), f"{held}/red.png", url):
        assert (read_picture(name, 4) == RED).all()
    said = {
        "MOST_BYTES": (
            str(path),
            f"the file has more than 0 MiB\n  {path}\n  make the picture smaller first",
        ),
        "MOST_URL": (
            url,
            f"the data URL has more than 0 MiB\n  {url[:40]}…\n  make the picture smaller first",
        ),
        "MOST_PIXELS": (
            str(path),
            f"the picture has more than 0 million pixels\n  {path}\n  make it smaller first",
        ),
    }
    for limit, (name, message) in said.items():
        with monkeypatch.context() as lower:
            lower.setattr(read, limit, getattr(read, limit) - 1)
            with pytest.raises(DataError) as caught:
                read_picture(name, 4)
            assert str(caught.value) == message


def test_an_entry_that_is_larger_than_it_says_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "a.zip", [("red.png", png(plain())), ("blue.png", b"no picture")])
    archive = read.open_archive(path)
    monkeypatch.setattr(read, "MOST_BYTES", 10)  # after the entries were looked at
    assert archive.read("blue.png") == b"no picture"
    with pytest.raises(
        DataError, match=r"the entry has more than 0 MiB\n  .*a\.zip/red\.png\n  leave it out$"
    ):
        archive.read("red.png")
    assert read.open_archive(path) is archive  # which is kept open


@pytest.mark.parametrize(
    ("size", "left", "top"), [((7, 4), 1, 0), ((4, 7), 0, 1), ((8, 4), 2, 0), ((4, 9), 0, 2)]
)
def test_the_centre_begins_at_a_whole_pixel(size: tuple[int, int], left: int, top: int) -> None:
    """Cut out and not scaled: half of an odd rest is rounded down."""
    width, height = size
    picture = np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8)
    cut = decode_picture(png(Image.fromarray(picture)), 4, "x")
    assert (cut == picture[top : top + 4, left : left + 4]).all()


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("{0}/a.ZIP/in/x.png", ("{0}/a.ZIP", "in/x.png")),
        ("{0}/b.zip/a.zip/x.png", ("{0}/b.zip/a.zip", "x.png")),  # b.zip is a folder
        ("{0}/a.ZIP", ("{0}/a.ZIP", "")),
        ("{0}/c.zip/x.png", ("{0}/c.zip/x.png", "")),
    ],
)
def test_where_a_zip_ends_and_its_entry_begins(tmp_path: Path, path: str, parts: tuple[str, str]) -> None:
    (tmp_path / "b.zip").mkdir()
    for name in ("a.ZIP", "b.zip/a.zip"):
        zipped(tmp_path / name, [])
    asked = path.format(tmp_path)
    assert read.split_archive(asked) == (parts[0].format(tmp_path), parts[1])


@pytest.mark.parametrize(
    ("name", "inside"),
    [("a.png", True), ("a/b..c.png", True), ("", False), ("/a", False), ("a/..", False), ("..", False)],
)
def test_which_names_stay_inside(name: str, *, inside: bool) -> None:
    assert read.is_inside(name) == inside
    assert read.is_data_url(f"DATA:{name}")
    assert not read.is_data_url(f"dat:{name}")


def test_nothing_between_the_letters_of_base64_is_passed_over() -> None:
    url = to_data_url(np.zeros((4, 4, 3), np.uint8))
    for damaged in (f"{url[:60]}\n{url[60:]}", f"{url[:60]}${url[60:]}", url[:-1]):
        with pytest.raises(DataError, match="^the data URL is not sound base64\n"):
            read_picture(damaged, 4)


def test_dark_pictures_of_sixteen_bits_are_black() -> None:
    for numbers, shade in (([0, 255], 0), ([256, 511], 1), ([0xFF00, 0xFFFF], 255)):
        deep = Image.fromarray(np.array([numbers, numbers], dtype=np.uint16))
        assert (decode_picture(png(deep), 2, "x") == shade).all()


def test_what_a_zip_cannot_unpack_is_told(tmp_path: Path) -> None:
    path = Path(zipped(tmp_path / "a.zip", [("x.png", b"abcdef")]))
    path.write_bytes(path.read_bytes().replace(b"abcdef", b"abcdeg", 1))
    with pytest.raises(DataError) as caught:
        read_picture(f"{path}/x.png", 4)
    said = f"the zip is damaged: Bad CRC-32 for file 'x.png'\n  {path}/x.png\n  copy it again"
    assert str(caught.value) == said
    with pytest.raises(DataError, match=r"^no such file\n  no\.zip\n"):
        read.open_archive("no.zip")


def test_why_a_picture_is_damaged_is_told_in_one_short_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for fault, reason in ((ValueError("a" * 99 + "\nmore"), "a" * 80), (ValueError(), "ValueError")):

        def fail(*_: object, fault: ValueError = fault) -> None:
            raise fault

        monkeypatch.setattr(read, "_flat", fail)
        with pytest.raises(DataError) as caught:
            decode_picture(png(plain()), 4, "x.png")
        said = f"the picture is damaged or cut short: {reason}\n  x.png\n  copy it again"
        assert str(caught.value) == said
