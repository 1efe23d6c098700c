from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.conftest import TINY, untrained

from jumok.checkpoint.model import save_model
from jumok.config import DecodingConfig, TransformerConfig
from jumok.decoding.engines import ROWS, SENTENCES, NativeEngine, cannot, chunks
from jumok.decoding.jobs import Job, make_request
from jumok.decoding.stream import Final
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError, LimitError, RunError
from jumok.native.library import available, thread_count


@pytest.mark.parametrize(
    ("options", "lack"),
    [
        ({}, ""),
        ({"beam": 3, "n_best": 2, "min_len": 4, "max_len": 9, "length_penalty": 0.5, "prefix": "a"}, ""),
        ({"sample": True, "temperature": 0.5}, ""),
        ({"mbr": 4}, ""),
        ({"ban": "a", "require": ["b", "c"], "glossary": {"a": "b"}}, ""),
        ({"no_repeat_ngram": 2}, "no_repeat_ngram"),
    ],
)
def test_what_only_torch_has(options: dict[str, object], lack: str) -> None:
    assert NativeEngine.lacks(make_request(DecodingConfig(), options)) == lack


def test_the_error_names_the_engine_and_the_option() -> None:
    assert str(cannot("native", "ban")) == (
        "the native engine has no ban\n  leave out ban, or choose --engine auto or torch"
    )


needs_library = pytest.mark.skipif(not available(), reason="the C library was not built")

TEXTS = ["a man rides a horse.", "", "the dog", "나는 어제 영화를 봤다. " * 6, "one two three four one", "a"]
OPTIONS = [
    {},
    {"beam": 1},
    {"beam": 4, "n_best": 3},
    {"prefix": "the"},
    {"prefix": ["a", "", "", "나는", "", "the man"], "beam": 3},
    {"min_len": 5, "length_penalty": 0.0},
    {"max_len": 1},
    {"long": "cut", "beam": 2},
    {"require": ["12", "man"], "beam": 2},
    {"ban": ["a", "e"], "beam": 1},
    {"glossary": {"man": "하늘", "dog": ["cat", "dog"], "영화": "film"}, "beam": 3},
    {"glossary": {"one two": "12", "horse": "horse"}, "glossary_mode": "soft", "beam": 1},
    {"sample": True, "n_best": 3},
    {"sample": True, "top_k": 5, "min_len": 5, "seed": 7, "prefix": "the"},
    {"sample": True, "top_p": 0.8, "temperature": 0.6, "ban": "e", "require": "man"},
    {"sample": True, "glossary": {"man": "하늘"}, "n_best": 2},
    {"mbr": 5, "temperature": 0.5},
    {"mbr": 4, "n_best": 2, "utility": "rouge1", "length_penalty": 0.0},
]


@pytest.fixture(scope="module", params=TINY)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Translator, Translator]:
    """The same model on both engines."""
    return on_both(untrained(TINY[request.param]), tmp_path_factory.mktemp("both"))


def on_both(loaded, place: Path) -> tuple[Translator, Translator]:
    folder = save_model(
        place / "tiny", loaded.model.state_dict(), loaded.config, loaded.tokenizers, {"step": 3}
    )
    return load(folder, "cpu", engine="native"), load(folder, "cpu", engine="torch")


@needs_library
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_translations_are_those_of_torch(both, options) -> None:
    native, whole = both
    found, wanted = (one.translate(TEXTS, **options) for one in (native, whole))
    for one, other in zip(found, wanted, strict=True):
        assert [h.text for h in one.hypotheses] == [h.text for h in other.hypotheses]
        for ours, theirs in zip(one.hypotheses, other.hypotheses, strict=True):
            assert (ours.finished, [t.id for t in ours.tokens]) == (
                theirs.finished,
                [t.id for t in theirs.tokens],
            )
            # Torch adds up in another order on another CPU: 1e-5 was not enough on one of them.
            assert ours.score_per_token == pytest.approx(theirs.score_per_token, abs=3e-5, rel=1e-5)


@needs_library
def test_scores_are_those_of_torch(both) -> None:
    native, whole = both
    targets = ["the man", "a", "", "horse horse", "나는", "one"]
    for one, other in zip(native.score(TEXTS, targets), whole.score(TEXTS, targets), strict=True):
        assert [t.id for t in one.tokens] == [t.id for t in other.tokens]
        for ours, theirs in zip(one.tokens, other.tokens, strict=True):
            assert ours.logprob == pytest.approx(theirs.logprob, abs=1e-5, rel=3e-6)


@needs_library
def test_an_answer_does_not_depend_on_the_others(both) -> None:
    native, _ = both
    together = native.translate(TEXTS)
    assert [native.translate(text) for text in TEXTS] == together
    assert list(native.translate_iter(TEXTS, block=2)) == together


@needs_library
def test_a_position_past_the_table_is_told_as_torch_tells_it(tmp_path: Path) -> None:
    config = TransformerConfig(
        width=8,
        heads=2,
        feedforward=8,
        encoder_layers=1,
        decoder_layers=1,
        positions="learned",
        max_positions=5,
    )
    for one in on_both(untrained(config), tmp_path):
        with pytest.raises(
            LimitError, match="has no learned row: the table ends at 5, so a sequence may have 5"
        ):
            one.translate("a man rides a horse.")


@needs_library
def test_numbers_that_are_not_finite_name_the_text(tmp_path: Path) -> None:
    loaded = untrained(TINY["transformer"])
    loaded.model.decoder[0].feedforward.outer.weight.data.fill_(3e38)
    native, _ = on_both(loaded, tmp_path)
    with pytest.raises(RunError, match="the model gave numbers that are not finite\n  for the text 'a man'"):
        native.translate(["a man", ""])


@given(st.lists(st.integers(1, 50), max_size=600))
def test_chunks_hold_every_job_once_longest_first(lengths: list[int]) -> None:
    jobs = [Job((260,) * length, (n,)) for n, length in enumerate(lengths)]
    found = list(chunks(jobs))
    flat = [job for chunk in found for job in chunk]
    assert sorted(flat, key=lambda job: job.prefix) == jobs
    assert [len(job.source) for job in flat] == sorted(lengths, reverse=True)
    assert all(len(chunk) == SENTENCES for chunk in found[:-1])


@given(st.lists(st.integers(1, 50), max_size=300), st.integers(1, 9000))
def test_many_draws_are_made_for_fewer_jobs_at_a_time(lengths: list[int], draws: int) -> None:
    jobs = [Job((260,) * length, (n,)) for n, length in enumerate(lengths)]
    found = list(chunks(jobs, draws))
    assert sorted((job for chunk in found for job in chunk), key=lambda job: job.prefix) == jobs
    assert all(len(chunk) <= max(ROWS // draws, thread_count()) for chunk in found)


@needs_library
def test_equal_jobs_have_equal_answers(both) -> None:
    native, _ = both
    one, two = native.translate(["a man", "a man"])
    assert one == replace(two)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model in a folder; not to be changed."""
    loaded = untrained(TINY["transformer"])
    place = tmp_path_factory.mktemp("opening") / "tiny"
    return save_model(place, loaded.model.state_dict(), loaded.config, loaded.tokenizers, {"step": 3})


@needs_library
def test_torch_is_made_from_what_native_holds(folder: Path) -> None:
    quick, whole = load(folder, "cpu"), load(folder, "cpu", engine="torch")
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(quick.model.state_dict()[name], tensor)
    assert quick.engine["name"] == "native"  # and it still translates


@needs_library
@pytest.mark.parametrize("engine", ["auto", "native"])
def test_all_that_the_engine_lacks(folder: Path, engine: str) -> None:
    translator = load(folder, "cpu", engine=engine)
    if engine == "auto":
        assert translator.translate("a man", no_repeat_ngram=2)
    else:
        with pytest.raises(ConfigError, match="the native engine has no no_repeat_ngram\n"):
            translator.translate("a man", no_repeat_ngram=2)
    assert isinstance(translator, Translator)


@needs_library
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_stream_grows_as_that_of_torch(both, options) -> None:
    given = options["prefix"] if isinstance(options.get("prefix"), list) else None
    for number, text in enumerate(TEXTS):
        asked = options if given is None else {**options, "prefix": given[number]}
        (*ours, mine), (*theirs, other) = (list(one.stream(text, **asked)) for one in both)
        assert [(p.t, p.text, p.tokens, p.stable, p.sure) for p in ours] == [
            (p.t, p.text, p.tokens, p.stable, p.sure) for p in theirs
        ]
        assert [p.score for p in ours] == pytest.approx([p.score for p in theirs], abs=1e-3, rel=1e-5)
        assert mine.translation.text == other.translation.text
        assert mine == Final(both[0].translate(text, **asked))


@needs_library
def test_a_stream_is_computed_by_the_engine_that_translates(folder: Path) -> None:
    for engine in ("auto", "native"):
        translator = load(folder, "cpu", engine=engine)
        translator._engine.to_torch = None  # type: ignore[method-assign]  # whoever calls it fails
        assert list(translator.stream("a man"))[-1] == Final(translator.translate("a man"))
