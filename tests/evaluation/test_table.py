"""The table: aligned, one row per system, stars on thin bins, the verdict and the signatures below it."""

from dataclasses import replace

from jumok.evaluation.evaluate import Evaluation, compare_evaluations, score_texts
from jumok.evaluation.report import Speed
from jumok.evaluation.significance import Significance
from jumok.evaluation.table import draw_table, verdict

REFERENCES = [f"a b c {i} e" for i in range(40)]
SOURCES = ["w " * (5 if i < 35 else 15) for i in range(40)]
HALF = [line if i % 2 else "x" for i, line in enumerate(REFERENCES)]


def report(name: str, texts: list[str], bootstrap: int = 20) -> Evaluation:
    return score_texts(texts, REFERENCES, SOURCES, metrics=["exact", "wer"], name=name, bootstrap=bootstrap)


def test_one_system() -> None:
    lines = draw_table([report("mine", REFERENCES, bootstrap=0)]).split("\n")
    assert lines == [
        "model   exact   WER     1–10    11–20",
        "mine    100.0   0.0   100.0    100.0*",
        "exact by source words   * fewer than 30 sentences",
        "exact  nrefs:1|case:mixed|space:strip",
        "WER    nrefs:1|case:mixed|unit:word",
    ]


def test_several_systems_with_intervals_speed_and_a_verdict() -> None:
    half = report("half", HALF)
    whole = replace(report("주목", REFERENCES), speed=Speed(10.0, 1234.5, 4.0))
    lines = draw_table([half, whole], compare_evaluations([half, whole])).split("\n")
    assert lines[0].split() == ["model", "exact", "95", "%", "WER", "tok/s", "1–10", "11–20"]
    assert lines[1].split()[:2] == ["half", "50.0"]
    assert "–" in lines[1].split()
    assert lines[2].split() == ["주목", "100.0", "[100.0,", "100.0]", "0.0", "1,234", "100.0", "100.0*"]
    assert lines[1].index("50.0") + len("50.0") == lines[0].index("exact") + len("exact")
    assert lines[4] == "주목 vs half: +50.0 exact, p = 0.048 (20 resamples)"
    assert len(lines) == 7  # table, legend, verdict, two signatures


def test_without_thin_bins_there_is_no_legend_for_the_star() -> None:
    sources = ["w " * 12] * 40
    text = draw_table([score_texts(HALF, REFERENCES, sources, metrics=["exact"], bootstrap=0)])
    assert "*" not in text
    assert "exact by source words" in text


def test_without_sources_there_are_no_bins() -> None:
    text = draw_table([score_texts(HALF, REFERENCES, metrics=["exact"], name="n", bootstrap=0)])
    assert text.split("\n")[:2] == ["model   exact", "n        50.0"]
    assert "by source" not in text


def test_a_verdict_says_which_how_far_and_how_likely() -> None:
    comparison = Significance("bleu", "rnn-attn", "transformer", 3.51, 1 / 1001, 1000)
    assert verdict(comparison) == "transformer vs rnn-attn: +3.5 BLEU, p = 0.001 (1,000 resamples)"
    assert verdict(replace(comparison, delta=-0.26)).startswith("transformer vs rnn-attn: -0.3 BLEU")


def test_answers_chosen_among_draws_say_so() -> None:
    decode = {"mbr": 64, "utility": "rouge1", "temperature": 0.65, "seed": 42}
    drawn = replace(report("mine", HALF, bootstrap=0), speed=Speed(10.0, 1234.5, 4.0), decode=decode)
    assert "mine: 64 draws by rouge1, temperature 0.65, seed 42" in draw_table([drawn]).split("\n")
