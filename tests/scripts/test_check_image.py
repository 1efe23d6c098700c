"""How a Dockerfile and a .dockerignore are read."""

from scripts.check_image import left_by, stages, value, words

FILE = """# a comment
FROM base AS build
RUN one && \\
  two

FROM base
USER 1
USER 2
CMD ["a", "b c"]
"""


def test_stages_and_their_instructions() -> None:
    first, second = stages(FILE)
    assert [word for word, _ in first] == ["FROM", "RUN"]
    assert first[1][1].split() == ["one", "&&", "two"]
    assert value(second, "USER") == "2"
    assert words(value(second, "CMD")) == ["a", "b c"]
    assert words('--timeout=5s CMD ["x"]') == ["x"]


def test_the_last_line_that_fits_a_file_decides() -> None:
    ignore = "# all\n*\n!src\n!a.txt\n**/__pycache__\nsrc/x.*\n"
    names = ["src/a.py", "src/__pycache__/a.pyc", "src/x.so", "a.txt", "b.txt", "srcs/a.py"]
    assert list(left_by(ignore, names)) == ["src/a.py", "a.txt"]
