import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from jumok.formats.plain import PlainFormat


@given(st.text(st.sampled_from("ab. \n\r\t"), max_size=40))
def test_a_file_comes_out_as_it_went_in(tmp_path_factory: object, text: str) -> None:
    path = Path(tmp_path_factory.mktemp("plain")) / "a.txt"  # type: ignore[attr-defined]
    path.write_bytes(text.encode())
    format, out = PlainFormat(), io.BytesIO()
    found = list(format.read(path))
    assert all(one.source.text.strip() for one in found)
    format.write(path, out, (one.source for one in found))
    assert out.getvalue() == text.encode()


def test_paragraphs_have_the_line_where_they_begin(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\none\ntwo\n\n\nthree", encoding="utf-8")
    found = list(PlainFormat().read(tmp_path / "a.txt"))
    assert [(one.source.text, one.where) for one in found] == [("one\ntwo", "line 2"), ("three", "line 6")]


def test_a_paragraph_without_end_is_cut_between_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("word\n" * 100_000, encoding="utf-8")
    found = list(PlainFormat().read(tmp_path / "a.txt"))
    assert [len(one.source.text) for one in found] == [100_004] * 4 + [99_979]
    for first, count in ((100_000, 1), (100_001, 2)):
        (tmp_path / "a.txt").write_text("a" * (first - 1) + "\nb\n", encoding="utf-8")
        assert len(list(PlainFormat().read(tmp_path / "a.txt"))) == count
