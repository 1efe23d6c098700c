"""Many rows are framed at once as one row is by itself, and come back bare."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.data.framed import RowFrames, around, bare
from jumok.text.frame import NO_END, SOURCE, TARGET, TEXT, Direction, Frame
from jumok.text.ragged import ragged
from jumok.text.tokenizer import Tokenizers, train_tokenizer

LANGUAGES = (("de", "<2de>"), ("en", "<2en>"), ("fr", "<2fr>"))
FRAMES = {
    "jumok": Frame(source=(TARGET, TEXT, "</s>"), languages=LANGUAGES),
    "nllb": Frame(source=(SOURCE, TEXT, "</s>"), target=(TARGET,), languages=LANGUAGES),
    "mbart": Frame(source=(TEXT, "</s>", SOURCE), target=(TARGET,), languages=LANGUAGES),
}
PLAIN_TOKENIZER = train_tokenizer(["a b c d"] * 4, TextConfig(vocabulary=300))
ROWS = st.lists(st.lists(st.integers(4, 250), max_size=5), min_size=1, max_size=6)


@pytest.mark.parametrize("name", FRAMES)
@given(rows=ROWS, data=st.data())
def test_many_at_once_equal_one_by_one(name: str, rows: list[list[int]], data: st.DataObject) -> None:
    tokenizer = PLAIN_TOKENIZER.with_tags(FRAMES[name].tags)
    both = Tokenizers(tokenizer, tokenizer, FRAMES[name])
    ways = [Direction("en", "de"), Direction("fr", "en")]
    numbers = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows))))
    frames = RowFrames.of(both, ways)
    sources, targets = frames.sources(ragged(rows), numbers), frames.targets(ragged(rows), numbers)
    for n, row in enumerate(rows):
        own = both.towards(ways[numbers[n]])
        assert sources.values[sources.begin[n] : sources.begin[n + 1]].tolist() == list(own.framed(row))
        assert targets.values[targets.begin[n] : targets.begin[n + 1]].tolist() == [*own.opening, *row]


@pytest.mark.parametrize("source", [(TEXT,), (TARGET, TEXT), (TEXT, SOURCE)])
def test_rows_without_an_end_have_no_word_for_it(source: tuple[str, ...]) -> None:
    frame = Frame(source=source, languages=LANGUAGES)
    tokenizer = PLAIN_TOKENIZER.with_tags(frame.tags)
    both = Tokenizers(tokenizer, tokenizer, frame)
    way = Direction("en", "de")
    found = RowFrames.of(both, [way]).sources(ragged([[7, 8]]), np.zeros(1, np.int64))
    assert [*found.values.tolist(), NO_END] == list(both.towards(way).framed([7, 8]))


def test_a_frame_is_plain_if_nothing_stands_around_any_row() -> None:
    frames = [*FRAMES.values(), Frame(source=(TEXT,)), Frame(), Frame(target=("<s>",))]
    frames += [Frame(source=source) for source in (("<s>", TEXT, "</s>"), (TEXT, "</s>", "<s>"))]
    found = list[bool]()
    for frame in frames:
        tokenizer = PLAIN_TOKENIZER.with_tags(frame.tags)
        found.append(RowFrames.of(Tokenizers(tokenizer, tokenizer, frame), [Direction("en", "de")]).is_plain)
    assert found == [False, False, False, True, True, False, False, False]


@given(ROWS, st.integers(0, 2), st.integers(0, 2))
def test_bare_undoes_around(rows: list[list[int]], b: int, a: int) -> None:
    before, behind = np.full((len(rows), b), 1), np.full((len(rows), a), 2)
    back, *tags = bare(around(ragged(rows), before, behind), b, a)
    assert back.values.tolist() == ragged(rows).values.tolist()
    assert back.begin.tolist() == ragged(rows).begin.tolist()
    assert (tags[0] == before).all()
    assert (tags[1] == behind).all()
