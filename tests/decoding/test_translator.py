import asyncio
import math
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import COPYING, TINY, untrained

from jumok.decoding.batched import encode, lay_sources, lay_targets
from jumok.decoding.jobs import make_request
from jumok.decoding.opening import check_device
from jumok.decoding.search import run_search
from jumok.decoding.translator import Translator, load
from jumok.edits import Edits
from jumok.errors import ConfigError, DataError, LimitError, ModelError, RunError
from jumok.nn.edit import AttentionEdit
from jumok.text.tokenizer import EOS

LONG = "a man rides a horse. the dog sees a man! one two three four. a dog."
TEXTS = ["a man", "", "the dog sees a man!", "나는 영화를", "  ", "one two three", "a", "a man"]
WORDS = st.sampled_from(["a", "man", "dog", "나는", "two", ".", "\t", "😀"])
LINES = st.lists(st.lists(WORDS, max_size=5).map(" ".join), max_size=6)
MODES = [
    {"beam": 1},
    {"beam": 4, "n_best": 3},
    {"sample": True, "n_best": 2, "seed": 5},
    {"mbr": 5, "n_best": 3, "temperature": 0.7, "utility": "rouge1"},
]


def same(one, other) -> bool:
    """Equal to the token; scores as near as arithmetic in batches of another size allows."""
    return [[t.id for t in h.tokens] for h in one.hypotheses] == [
        [t.id for t in h.tokens] for h in other.hypotheses
    ] and one.score == pytest.approx(other.score, abs=1e-4)


def test_shape_follows_input(luong) -> None:
    assert luong.translate("a man").source == "a man"
    assert [t.source for t in luong.translate(TEXTS)] == TEXTS
    assert luong.translate([]) == []
    assert [t.source for t in luong.translate_iter(iter(TEXTS), block=3)] == TEXTS


@pytest.mark.parametrize("options", MODES)
def test_a_text_gets_the_same_answer_alone_and_in_any_batch_and_order(translator, options) -> None:
    together = translator.translate(TEXTS, **options)
    small = translator.translate(TEXTS, batch_tokens=1, **options)
    backwards = translator.translate(TEXTS[::-1], **options)[::-1]
    for text, a, b, c in zip(TEXTS, together, small, backwards, strict=True):
        alone = translator.translate(text, **options)
        assert same(a, alone)
        assert same(b, alone)
        assert same(c, alone)


@pytest.mark.parametrize("options", MODES)
def test_every_score_is_the_models_own(translator, options) -> None:
    """Against the teacher-forced pass, which shares no code with the search."""
    for result in translator.translate(["a man", "the dog sees"], no_repeat_ngram=2, min_len=3, **options):
        ids, cpu = translator.tokenizers.source.encode(result.source), torch.device("cpu")
        with torch.inference_mode():
            memory = translator.model.encode(lay_sources([ids], cpu))
        for hypothesis in result.hypotheses:
            ids = [token.id for token in hypothesis.tokens]
            with torch.inference_mode():
                logits = translator.model.decode(lay_targets([ids], cpu)[0], memory).logits()
            own = logits.log_softmax(-1)[range(len(ids)), ids].tolist()
            assert [token.logprob for token in hypothesis.tokens] == pytest.approx(own, rel=1e-4, abs=1e-4)
            assert hypothesis.score == pytest.approx(sum(own), abs=1e-3)
            assert hypothesis.score_per_token == pytest.approx(sum(own) / len(own), abs=1e-4)
            assert hypothesis.finished == (ids[-1] == EOS)


def test_beam_one_and_top_one_are_greedy(translator) -> None:
    plain = translator.translate(TEXTS, beam=1)
    drawn = translator.translate(TEXTS, sample=True, top_k=1, temperature=2.0)
    assert all(same(a, b) for a, b in zip(plain, drawn, strict=True))


def test_answers_end_and_do_not_end(luong) -> None:
    found = luong.translate([f"{a} {b}" for a in ("a", "man", "dog", "two") for b in ("one", "나는", "sees")])
    assert {result.finished for result in found} == {True, False}


@settings(max_examples=25, deadline=None)
@given(lines=LINES, budget=st.integers(1, 300), block=st.integers(1, 7))
def test_one_line_in_one_line_out(luong, lines, budget, block) -> None:
    found = list(luong.translate_iter(lines, block=block, batch_tokens=budget, beam=2))
    assert [result.source for result in found] == lines
    for line, result in zip(lines, found, strict=True):
        assert "\n" not in result.text
        assert "\r" not in result.text
        if not line.strip():
            assert (result.text.strip(), result.score, result.tokens) == ("", 0.0, ())


def test_n_best_is_sorted_and_distinct(translator) -> None:
    for result in translator.translate(["a man", "the dog"], beam=6, n_best=6, length_penalty=0.0):
        texts = [one.text for one in result.hypotheses]
        scores = [(one.finished, one.score) for one in result.hypotheses]
        assert len(set(texts)) == len(texts) > 1
        assert scores == sorted(scores, reverse=True)


def test_lengths_are_kept(translator) -> None:
    for result in translator.translate(["a man", "the dog", "a"], min_len=4, max_len=6, beam=3, n_best=3):
        for one in result.hypotheses:
            assert 4 <= sum(token.id != EOS for token in one.tokens) <= 6


@pytest.mark.parametrize("options", MODES)
def test_prefix_ban_and_require(translator, options) -> None:
    free = translator.translate(["a man", "나는"], **options)
    banned = sorted({char for result in free for char in result.text} - set("The dog 12 봤다 😀 하늘"))[:3]
    found = translator.translate(
        ["a man", "나는"],
        prefix=["The dog", "봤다 😀"],
        ban=banned,
        require=["12", "하늘"],
        max_len=40,
        **options,
    )
    for result, prefix in zip(found, ["The dog", "봤다 😀"], strict=True):
        for one in result.hypotheses:
            assert one.text.startswith(prefix)
            assert "12" in one.text
            assert "하늘" in one.text
            assert not any(text in one.text for text in banned)


@pytest.mark.parametrize("options", MODES)
def test_answers_are_always_whole_characters(translator, options) -> None:
    for result in translator.translate(TEXTS, max_len=9, **options):
        assert not any("\N{REPLACEMENT CHARACTER}" in one.text for one in result.hypotheses)


@pytest.mark.parametrize("way", [{"sample": True}, {"mbr": 4}])
def test_sampling_is_a_matter_of_the_seed(luong, way) -> None:
    once = luong.translate(TEXTS, seed=1, **way)
    assert luong.translate(TEXTS, seed=1, **way) == once
    assert luong.translate(TEXTS, seed=2, **way) != once


def test_long_text(luong) -> None:
    text = LONG
    split = luong.translate(text, sentences="as-is")
    first, second = luong.translate(
        ["a man rides a horse. the dog sees a man!", "one two three four. a dog."], sentences="as-is"
    )
    assert split.text == f"{first.text} {second.text}".strip()
    assert split.score == pytest.approx(first.score + second.score, abs=1e-4)
    assert len(luong.translate(text, long="cut", sentences="as-is").tokens) <= 16
    with pytest.raises(LimitError) as caught:
        luong.translate(["a", text], long="error", sentences="as-is")
    pieces = len(luong.tokenizers.source.encode(text))
    assert f"text 2 has {pieces} tokens, and this model takes 12" in str(caught.value)
    assert 'long="split" translates it in parts' in str(caught.value)


def test_required_text_and_prefix_appear_once_in_a_split_text(luong) -> None:
    text = "a man rides a horse. " * 9
    result = luong.translate(text, prefix="봤다", require="12")
    assert result.text.startswith("봤다")
    assert "12" in result.text


def test_alternatives_of_a_split_text(luong) -> None:
    result = luong.translate("a man rides a horse. the dog sees a man! one two three four.", n_best=3)
    assert len(result.hypotheses) == 3
    assert all(math.isfinite(one.score) for one in result.hypotheses)


def test_score_gives_every_token(translator) -> None:
    one, two = translator.score(["a man", "the dog"], ["나는", "one two three"])
    assert one == translator.score("a man", "나는") or one.score == pytest.approx(
        translator.score("a man", "나는").score, abs=1e-4
    )
    assert "".join(token.text for token in two.tokens) == " one two three</s>"
    assert two.score == pytest.approx(sum(token.logprob for token in two.tokens))
    assert two.score_per_token == pytest.approx(two.score / len(two.tokens))


def test_a_translation_scores_as_it_was_reported(translator) -> None:
    tokenizer = translator.tokenizers.target
    for result in translator.translate(["a man", "the dog", "one two"], beam=3, ban=[]):
        ids = [token.id for token in result.tokens if token.id != EOS]
        if result.finished and tokenizer.encode(result.text) == ids:
            assert translator.score(result.source, result.text).score == pytest.approx(result.score, abs=1e-4)


def test_unequal_sides_cannot_be_scored(luong) -> None:
    with pytest.raises(DataError, match="there are 2 sources and 1 targets"):
        luong.score(["a", "b"], ["c"])


def test_a_text_that_is_no_text(luong) -> None:
    with pytest.raises(TypeError, match="text 2 is of type int, not str"):
        luong.translate(["a", 3])


def test_unknown_options_are_refused_before_any_work(luong) -> None:
    with pytest.raises(TypeError, match="did you mean 'n_best'"):
        luong.translate_iter([], nbest=3)
    with pytest.raises(ConfigError, match="a stream takes one prefix for all texts"):
        luong.translate_iter(["a"], prefix=["b"])


def test_progress_counts_lines(luong) -> None:
    seen: list[tuple[str, int, int | None]] = []
    luong.translate(TEXTS, batch_tokens=20, beam=1, progress=lambda *report: seen.append(report))
    assert seen[-1] == ("translating", len(TEXTS), len(TEXTS))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    seen.clear()
    list(luong.translate_iter(TEXTS, block=5, progress=lambda *report: seen.append(report)))
    assert seen[-1] == ("translating", len(TEXTS), None)


def test_numbers_that_are_not_finite_name_the_text(luong, broken) -> None:
    bad = broken(luong)
    for call in (
        lambda: bad.translate(["a man"], beam=2),
        lambda: bad.translate(["a man"], sample=True, n_best=3),
        lambda: bad.translate(["a man"], mbr=3),
        lambda: bad.score("a man", "b"),
    ):
        with pytest.raises(RunError, match="numbers that are not finite\n  for the text 'a man'") as caught:
            call()
        assert caught.value.code == "model_numeric_error"


@pytest.mark.parametrize(
    "trouble", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to")]
)
def test_a_search_without_enough_memory_says_what_needs_less(luong, monkeypatch, trouble: Exception) -> None:
    def fail(*_: object) -> None:
        raise trouble

    monkeypatch.setattr(type(luong.model), "step", fail)
    with pytest.raises(LimitError, match="there is not enough memory for this search") as caught:
        luong.translate(["a man"], beam=2)
    assert caught.value.hint.startswith("a smaller beam, fewer draws")
    monkeypatch.setattr(type(luong.model), "step", lambda *_: int("x"))
    with pytest.raises(ValueError, match="invalid literal"):  # what we did not expect stays what it is
        luong.translate(["a man"], beam=2)


def test_threads_may_share_a_translator(luong) -> None:
    expected, found = luong.translate(TEXTS, beam=3), {}

    def work(n: int) -> None:
        found[n] = luong.translate(TEXTS, beam=3)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[n] == expected for n in range(4))


def test_it_says_what_computes(luong) -> None:
    assert luong.engine == luong.engine_for(beam=1) == luong.engine_for()
    assert luong.engine["name"] == "torch"


def test_info_says_what_the_model_is(translator) -> None:
    info = translator.info
    assert info["arch"] == translator.config.model.arch
    assert info["model"]["width"] == 16
    assert (info["source_language"], info["target_language"]) == ("en", "ko")
    assert info["target_vocabulary"] == translator.tokenizers.target.size
    assert (info["parameters"], info["step"], info["name"]) == (7, 3, "tiny")
    assert repr(translator) == f"Translator('tiny', {info['arch']})"


def test_the_parts_of_translate_make_the_whole(translator) -> None:
    texts, options = ["a man", " ", LONG], {"beam": 3, "n_best": 2, "ban": ["e"]}
    request = make_request(translator.config.decoding, options)
    results = []
    for text, made in zip(texts, translator.jobs(texts, request), strict=True):
        answers = []
        for job in made.jobs:
            memory = encode(translator.model, [job], [1])
            answers += run_search(translator.model, memory, translator.search_for(job, request))
        results.append(translator.finish(text, made.layout, answers, request))
    assert all(same(a, b) for a, b in zip(results, translator.translate(texts, **options), strict=True))


def test_an_edited_translator_is_another_one_of_its_kind() -> None:
    class Mine(Translator):
        pass

    plain = Mine(untrained(TINY["rnn"]))
    final = encode(plain.model, plain.jobs(["two"], make_request(plain.config.decoding, {}))[0], [1]).final
    edited = plain.edited(Edits(bridge=final[0].numpy()))
    assert type(edited) is Mine
    assert edited.tokenizers is plain.tokenizers
    assert edited.translate("a man").text == plain.translate("two", max_len=16).text
    assert edited.translate("a man").text != plain.translate("a man").text
    assert next(edited.model.parameters()) is next(plain.model.parameters())


def test_translation_in_an_event_loop(luong) -> None:
    async def both():
        return await asyncio.gather(luong.atranslate("a man", beam=2), luong.atranslate(["a", "two"]))

    one, two = asyncio.run(both())
    assert one == luong.translate("a man", beam=2)
    assert two == luong.translate(["a", "two"])


def test_a_translator_is_a_context_manager(luong) -> None:
    with luong as same_one:
        assert same_one.translate("a").source == "a"


def test_load_says_what_is_missing(tmp_path) -> None:
    with pytest.raises(ModelError, match="nowhere"):
        load(tmp_path / "nowhere")


def test_devices() -> None:
    assert check_device("cpu") == "cpu"
    assert check_device(None) in ("cpu", "cuda")
    with pytest.raises(ConfigError, match="device 'abacus' is not available"):
        check_device("abacus")


@pytest.fixture
def transformer(monkeypatch: pytest.MonkeyPatch) -> Translator:
    """A translator that searches as on a GPU."""
    monkeypatch.setattr("jumok.decoding.torch_engine.preferred", lambda device: True)
    return Translator(untrained(TINY["transformer"]))


def searches_on_the_device(translator: Translator) -> bool:
    return "_device_search" in vars(translator._engine.to_torch())


@pytest.mark.parametrize("options", [{}, {"beam": 1}, {"beam": 4, "n_best": 3}, {"batch_tokens": 200}])
def test_a_search_on_the_device_gives_the_same_translations(transformer, monkeypatch, options) -> None:
    found = transformer.translate([*TEXTS, TEXTS[0], ""], **options)
    assert searches_on_the_device(transformer)
    monkeypatch.setattr("jumok.decoding.torch_engine.preferred", lambda device: False)
    for one, other in zip(found, transformer.translate([*TEXTS, TEXTS[0], ""], **options), strict=True):
        assert one.text == other.text
        assert [h.text for h in one.hypotheses] == [h.text for h in other.hypotheses]
        assert one.score == pytest.approx(other.score, abs=1e-4)


def test_what_the_device_cannot_search_is_searched_step_by_step(transformer) -> None:
    for options in (
        {"prefix": "a"},
        {"ban": "man"},
        {"min_len": 3},
        {"sample": True, "n_best": 2},
        {"mbr": 3},
    ):
        assert transformer.translate("a man", **options).text
    edits = Edits({("cross", 0): AttentionEdit(uniform=(0,))})
    edited = transformer.edited(edits)
    assert edited.translate("a man") == transformer.edited(edits).translate("a man")
    assert not searches_on_the_device(transformer)
    assert not searches_on_the_device(edited)
    copying = Translator(untrained(COPYING))
    assert copying.translate("a man").text
    assert not searches_on_the_device(copying)


def test_numbers_that_are_not_finite_name_the_text_on_the_device_too(transformer) -> None:
    with torch.no_grad():
        transformer.model.decoder[0].feedforward.inner.bias[:] = math.nan
    with pytest.raises(RunError, match="numbers that are not finite\n  for the text 'the dog sees"):
        transformer.translate(["the dog sees"])
