"""Evaluation from end to end with a translator that is a dictionary."""

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.decoding.conftest import TINY, untrained

from jumok.answers import normalised
from jumok.config import DataConfig, DecodingConfig, RunConfig
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, DataError
from jumok.evaluation import metrics
from jumok.evaluation.evaluate import evaluate, names_below, score_texts, with_mistakes
from jumok.evaluation.lengths import count_lengths
from jumok.evaluation.metrics import chrf
from jumok.progress import Progress

SOURCES = ["eins zwei", "drei", "", "vier fünf sechs"]
REFERENCES = ["one two", "three", "", "four five six"]


@dataclass(frozen=True)
class Result:
    text: str
    tokens: tuple[str, ...]
    score: float = 0.0


@dataclass
class Dictionary:
    """Translates word by word; remembers what it was asked."""

    words: dict[str, str]
    calls: list[dict[str, Any]] = field(default_factory=list)
    config: RunConfig = field(default_factory=RunConfig)
    info: dict[str, Any] = field(default_factory=lambda: {"name": "words"})
    tokenizers: Any = field(
        default_factory=lambda: SimpleNamespace(target=SimpleNamespace(fingerprint="0123456789abcdef"))
    )

    def translate(self, sources: Sequence[str], *, progress: Progress, **options: Any) -> list[Result]:
        self.calls.append({"sources": list(sources), **options})
        progress("translating", len(sources), len(sources))
        answers = [" ".join(self.words.get(word, "?") for word in text.split()) for text in sources]
        return [Result(text, tuple(text.split())) for text in answers]

    def asked_in(self, options: Mapping[str, Any]) -> "Dictionary":
        return self

    def engine_for(self, **options: Any) -> dict[str, str]:
        return {"name": "words"}

    def score(self, sources: Sequence[str], targets: Sequence[str], *, progress: Progress) -> list[Result]:
        return [Result(text, (*text.split(), "</s>"), math.log(0.5) * len(text.split())) for text in targets]


@pytest.fixture
def dictionary() -> Dictionary:
    words = {"eins": "one", "zwei": "two", "drei": "tree", "vier": "four", "fünf": "five", "sechs": "six"}
    return Dictionary(words)


def test_translations_come_back_in_order_with_their_scores(dictionary: Dictionary) -> None:
    report = evaluate(dictionary, SOURCES, REFERENCES, metrics=["exact", "wer"], name="dictionary", beam=3)
    assert report.hypotheses == ("one two", "tree", "", "four five six")
    assert report.metrics["exact"].value == 75
    assert report.metrics["wer"].value == pytest.approx(100 / 6)
    assert (report.model, report.data, report.bootstrap) == ("dictionary", "test", 1000)
    assert report.metrics["exact"].signature.startswith("nrefs:1|bs:1000|")
    assert dictionary.calls == [{"sources": SOURCES, "sentences": "as-is", "beam": 3}]


def test_the_report_names_the_model_and_every_setting_of_decoding(dictionary: Dictionary) -> None:
    report = evaluate(dictionary, SOURCES, REFERENCES, bootstrap=0, beam=3)
    assert report.model == "words"
    assert report.decode == asdict(DecodingConfig(beam=3))


def test_the_report_says_how_draws_were_made_and_chosen(dictionary: Dictionary) -> None:
    options = {"mbr": 8, "utility": "rouge1", "temperature": 0.7, "seed": 3}
    report = evaluate(dictionary, SOURCES, REFERENCES, bootstrap=0, **options)
    assert report.decode == asdict(DecodingConfig(**options))
    usual = replace(dictionary.config, decoding=DecodingConfig(**options))
    other = evaluate(replace(dictionary, config=usual), SOURCES, REFERENCES, bootstrap=0, beam=2, long="cut")
    assert (other.decode["mbr"], other.decode["beam"], other.decode["long"]) == (0, 2, "cut")


def test_the_report_says_how_many_terms_of_a_glossary_were_kept() -> None:
    translator = Translator(untrained(TINY["luong"]))
    options = {"glossary": {"man": "하늘", "zebra": "x"}, "beam": 2, "max_len": 24}
    report = evaluate(translator, ["a man", "the dog"], ["x", "y"], bootstrap=0, **options)
    assert report.decode["glossary"] == {"terms": 2, "applicable": 1, "present": 1}
    assert "1 of 1 terms of the glossary are in the translations" in report.notes
    assert json.loads(json.dumps(report.to_dict()))["decode"]["glossary"]["present"] == 1


def test_the_speed_is_that_of_the_translation(dictionary: Dictionary) -> None:
    speed = evaluate(dictionary, SOURCES, REFERENCES, bootstrap=0).speed
    assert speed is not None
    assert speed.sentences_per_s * speed.wall_s == pytest.approx(4)
    assert speed.target_tokens_per_s * speed.wall_s == pytest.approx(6)


def test_scoring_finished_lines_gives_the_same_numbers(dictionary: Dictionary) -> None:
    whole = evaluate(dictionary, SOURCES, REFERENCES)
    texts = score_texts(whole.hypotheses, REFERENCES, SOURCES)
    assert (texts.metrics, texts.bins, texts.sha256) == (whole.metrics, whole.bins, whole.sha256)
    assert texts.speed is None


def test_perplexity_asks_the_model_for_the_references(dictionary: Dictionary) -> None:
    report = evaluate(dictionary, SOURCES, REFERENCES, metrics=["ppl", "bleu"], bootstrap=0)
    assert report.metrics["ppl"].value == pytest.approx(2 ** (6 / 10))  # six words and four ends
    assert list(report.metrics) == ["ppl", "bleu"]
    assert report.metrics["ppl"].signature == "nrefs:1|unit:token|vocabulary:01234567"


def test_progress_is_told_as_the_work_goes_on(dictionary: Dictionary) -> None:
    told: list[tuple[str, int, int | None]] = []
    evaluate(
        dictionary,
        SOURCES,
        REFERENCES,
        bootstrap=0,
        progress=lambda what, done, total: told.append((what, done, total)),
    )
    metrics_done = [("metrics", done, 2) for done in (0, 1, 2)]
    bins_done = [("intervals by length", done, 3) for done in (1, 2, 3)]
    assert told == [("translating", 4, 4), *metrics_done, *bins_done]


def test_each_bin_scores_its_own_sentences() -> None:
    sources = ["w " * 3] * 40 + ["w " * 15] * 10
    hypotheses = ["a b c d"] * 40 + ["x"] * 10
    report = score_texts(hypotheses, ["a b c d"] * 50, sources, metrics=["exact"], bootstrap=100)
    short, long = report.bins
    assert (short.metrics["exact"].value, long.metrics["exact"].value) == (100, 0)
    assert (short.metrics["exact"].ci95, long.metrics["exact"].ci95) == ((100, 100), (0, 0))
    assert (short.length_ratio, long.length_ratio) == (1, 1 / 7)
    assert (short.group.thin, long.group.thin) == (False, True)
    assert short.examples == tuple(range(20))  # all alike: in their order
    assert report.metrics["exact"].value == 80


def test_the_worst_sentences_of_a_bin_are_its_examples() -> None:
    words = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]
    references = [" ".join(words)] * 30
    hypotheses = [" ".join(words[: 1 + i % 10]) for i in range(30)]
    report = score_texts(hypotheses, references, references, bins="words", metrics=["exact"], bootstrap=0)
    (only,) = report.bins
    assert only.examples[:7] == (0, 10, 20, 1, 11, 21, 2)
    assert len(only.examples) == 20
    scores = [report.sentence_chrf[line] for line in only.examples]
    assert scores == sorted(scores)
    assert max(scores) <= min(set(report.sentence_chrf) - set(scores))
    assert report.sentence_chrf[0] == pytest.approx(chrf([hypotheses[0]], [references[0]]).value)
    assert "chrf" not in report.metrics


def test_a_model_that_knows_its_training_lengths_tells_them(dictionary: Dictionary) -> None:
    lengths = count_lengths(SOURCES, pairs=400)
    dictionary.info = {**dictionary.info, "train_lengths": lengths.to_dict()}
    report = evaluate(dictionary, SOURCES, REFERENCES, bootstrap=0)
    assert report.train_lengths == lengths
    assert report.length_unit is not None
    histogram = report.to_dict()["train_length_histogram"]
    assert histogram == lengths.bars[report.length_unit].to_list()
    assert sum(bar[2] for bar in histogram) == 400


def test_thirds_by_characters() -> None:
    sources = [str(10**i) for i in range(9)]
    report = score_texts(sources, sources, sources, bins="thirds", metrics=["exact"], bootstrap=0)
    assert report.length_unit == "source_characters"
    assert [one.group.label for one in report.bins] == ["1–3", "4–6", "7–9"]


def test_without_sources_or_without_the_wish_there_are_no_bins() -> None:
    assert score_texts(["a"], ["a"], bootstrap=0).bins == ()
    report = score_texts(["a"], ["a"], ["b"], by_length=False, bootstrap=0)
    assert report.to_dict()["by_length"] is None


def test_decomposed_references_are_composed_and_it_is_said() -> None:
    decomposed = unicodedata.normalize("NFD", "나는 어제 영화를 봤다")
    report = score_texts(["나는 어제 영화를 봤다"], [decomposed], bootstrap=0)
    assert report.metrics["chrf"].value == pytest.approx(100)
    assert report.notes == ("some texts were not in Unicode NFC and were brought to it before scoring",)


def test_the_target_language_chooses_the_tokenizer_of_bleu() -> None:
    report = score_texts(["我看了电影"], ["我看过电影"], language="zh", bootstrap=0)
    assert "|tok:zh|" in report.metrics["bleu"].signature


def test_the_language_is_the_models_own_unless_given(dictionary: Dictionary) -> None:
    dictionary.config = RunConfig(data=DataConfig(target_language="zh"))
    own = evaluate(dictionary, SOURCES, REFERENCES, bootstrap=0)
    given = evaluate(dictionary, SOURCES, REFERENCES, bootstrap=0, language="en")
    assert "|tok:zh|" in own.metrics["bleu"].signature
    assert "|tok:13a|" in given.metrics["bleu"].signature


def test_how_long_answers_are_is_told_beside_how_long_they_should_be() -> None:
    assert score_texts(["abc", ""], ["ab", "cdef"], bootstrap=0).length_ratio == 0.5
    assert score_texts(["abc"], [""], bootstrap=0).length_ratio == 3  # against one, where there is nothing


def test_a_missing_tokenizer_becomes_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ko_mecab.MeCab", None)
    report = score_texts(["나는"], ["나는"], language="ko", bootstrap=0)
    assert "ko-mecab is not installed" in report.notes[0]
    assert score_texts(["나는"], ["나는"], language="ko", metrics=["exact"], bootstrap=0).notes == ()


def test_results_repeat_exactly() -> None:
    lines = [f"a b {i} d" for i in range(30)]
    reports = [score_texts(lines[::-1], lines, lines, bootstrap=50) for _ in range(2)]
    assert reports[0] == reports[1]
    assert reports[0].metrics["bleu"] == reports[1].metrics["bleu"]


@pytest.mark.parametrize(
    ("sources", "references", "message"),
    [
        (["a", "b"], ["a"], "there are 2 sources and 1 references\n  line n of one must answer line n"),
        ([], [], "there are no sentences to evaluate"),
    ],
)
def test_bad_pairs_are_refused_before_any_work(
    dictionary: Dictionary, sources: list[str], references: list[str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        evaluate(dictionary, sources, references)
    assert dictionary.calls == []


def test_bad_options_are_refused(dictionary: Dictionary) -> None:
    with pytest.raises(ConfigError, match="unknown metric 'bluu'"):
        evaluate(dictionary, SOURCES, REFERENCES, metrics=["bluu"])
    with pytest.raises(ConfigError, match="-1 resamples cannot work\n  choose 0 for no intervals"):
        score_texts(["a"], ["a"], bootstrap=-1)
    with pytest.raises(DataError, match="there are 2 hypotheses and 1 references"):
        score_texts(["a", "b"], ["a"])
    with pytest.raises(ConfigError, match="perplexity needs a model"):
        score_texts(["a"], ["a"], metrics=["ppl"])


def test_every_metric_has_a_label_and_a_report() -> None:
    names = [name for name in metrics.LABELS if name != "ppl"]
    report = score_texts(["a b c d e"] * 3, ["a b c d f"] * 3, metrics=names, bootstrap=10)
    assert list(report.metrics) == names
    assert all(one.ci95 and one.ci95[0] <= one.value <= one.ci95[1] for one in report.metrics.values())


def test_several_references_for_each_sentence(dictionary: Dictionary) -> None:
    references = [("uno dos", "one two"), ("tree",), ("",), ("four five six", "4 5 6")]
    report = evaluate(dictionary, SOURCES, references, metrics=["exact", "ppl"], bootstrap=10)
    assert report.metrics["exact"].value == 100
    assert report.metrics["exact"].signature.startswith("nrefs:var|bs:10|seed:12345|")
    assert report.metrics["ppl"].signature.startswith("nrefs:1|")  # of the first of each
    assert report.references == ("uno dos", "tree", "", "four five six")
    assert report.all_references[0] == references[0]
    shown = {one["line"]: one for one in report.to_dict()["examples"]}
    assert (shown[0]["reference"], shown[0]["references"]) == ("uno dos", ["uno dos", "one two"])
    assert "references" not in shown[1]


def test_the_test_set_is_known_by_all_its_references() -> None:
    plain = score_texts(["a"], ["a"], bootstrap=0)
    assert plain.sha256 == score_texts(["a"], [("a",)], bootstrap=0).sha256
    assert plain.sha256 != score_texts(["a"], [("a", "b")], bootstrap=0).sha256
    with pytest.raises(DataError, match="sentence 2 has no reference"):
        score_texts(["a", "b"], ["a", ()])


def test_where_pictures_lie_does_not_change_the_hash_of_a_test_set() -> None:
    def digest(*sources: str) -> str:
        return score_texts(
            ["a", "b"], ["a", "b"], sources, bootstrap=0, by_length=False, pictures=True
        ).sha256

    here = digest("/home/me/pictures.zip/a.png", "/home/me/pictures.zip/more/b.png")
    assert digest("elsewhere/a.png", "elsewhere/more/b.png") == here == digest("a.png", "more/b.png")
    assert digest("elsewhere/a.png", "elsewhere/more/c.png") != here
    assert digest("data:image/png;base64,AA/B", "a.png") != digest("data:image/png;base64,CC/B", "a.png")


def test_names_of_pictures_begin_where_their_folders_part() -> None:
    assert names_below(["/a/b/x.png", "/a/c/y.png"]) == ["b/x.png", "c/y.png"]
    assert names_below(["/a/b/x.png", "data:image/png;base64,/a/b"]) == [
        "x.png",
        "data:image/png;base64,/a/b",
    ]
    assert names_below(["ab/x.png", "ac/x.png"]) == ["ab/x.png", "ac/x.png"]  # whole folders, not letters


def test_without_a_model_mistakes_are_told_and_no_one_is_blamed() -> None:
    found = with_mistakes(score_texts(["b", "c"], ["a", "c"], ["x", "y"], bootstrap=0)).mistakes
    assert found is not None
    assert [(line.line, line.source, line.reference, line.cause) for line in found.lines] == [
        (0, "x", "a", None)
    ]


def test_lines_that_no_search_is_known_of_are_judged_with_the_penalty_one(dictionary: Dictionary) -> None:
    """-1 bit over the penalty of 2 tokens against -60 over that of 61: twice the penalty would turn it."""
    found = score_texts(["one"], [" ".join("a" * 60)], ["eins"], bootstrap=0)
    asked = with_mistakes(found, dictionary).mistakes  # type: ignore[arg-type]
    assert asked is not None
    assert asked.causes == {"model": 1}


def test_whose_fault_it_is_depends_on_the_penalty_that_the_search_had(dictionary: Dictionary) -> None:
    """The dictionary finds a text of n words n bits: -1 against -2 over the penalty of three tokens."""
    sources, references = ["eins", "drei"], ["one", "a b"]
    for options, cause in (({}, "model"), ({"length_penalty": 6.0}, "search")):
        found = evaluate(dictionary, sources, references, bootstrap=0, mistakes=True, **options).mistakes
        assert found is not None
        assert [(line.line, line.cause) for line in found.lines] == [(1, cause)]


def test_whose_fault_a_mistake_is_comes_from_the_models_own_scores() -> None:
    torch_model = Translator(untrained(TINY["luong"]))
    sources = ["a man rides a horse", "the dog"]
    [answer, other] = [one.text for one in torch_model.translate(sources, sentences="as-is", beam=1)]
    found = evaluate(torch_model, sources, ["a", other], mistakes=True, bootstrap=0, beam=1).mistakes
    assert found
    [line] = found.lines
    assert (line.line, line.hypothesis) == (0, answer)
    ours, theirs = torch_model.score([sources[0]] * 2, [answer, "a"])
    alpha = torch_model.config.decoding.length_penalty
    better = normalised(theirs.score, len(theirs.tokens), alpha) > normalised(
        ours.score, len(ours.tokens), alpha
    )
    assert line.cause == ("search" if better else "model")
    assert sum(found.causes.values()) == 1
