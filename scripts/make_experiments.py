"""Figures, tables and findings of docs/experiments, from benchmarks/experiments.jsonl.

    python scripts/make_experiments.py            # write figures, tables and findings
    python scripts/make_experiments.py --check    # or only say what differs, with status 1

What is made stands between `<!-- results NAME -->` and `<!-- end of results -->` of a page. The numbers
choose a finding's verdict: a difference is claimed only where all seeds of one lie above all of the other.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from charts import DotRow, SeedLine, dots, lines

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "experiments.jsonl"
PAGES = ROOT / "docs" / "experiments"
BLOCK = re.compile(r"(<!-- results ([\w-]+) -->\n)(.*?)(<!-- end of results -->)", re.DOTALL)

Words = tuple[str, str]  # English, Korean
ENGLISH, KOREAN = 0, 1
ENDINGS = ("", ".ko")
LONG = 10  # letters from which a word is called long

VERDICTS: Mapping[str, Words] = {
    "holds": ("Holds here.", "여기서도 그렇습니다."),
    "undecided": ("Undecided here.", "여기서는 가릴 수 없습니다."),
    "fails": ("Does not hold here.", "여기서는 그렇지 않습니다."),
}
TITLES: Mapping[str, Words] = {
    "bottleneck": ("The fixed vector, by length", "길이에 따른 고정 벡터"),
    "parts": ("Parts taken away", "부품 빼기"),
    "forcing": ("Teacher forcing", "교사 강요"),
    "positions": ("Positions past the training length", "학습한 길이를 넘는 위치"),
}
# The models of each experiment by their names, in the order of figures and tables.
MODELS: Mapping[str, Mapping[str, Words]] = {
    "bottleneck": {
        "rnn": ("RNN", "RNN"),
        "luong": ("Luong", "Luong"),
        "transformer": ("Transformer", "트랜스포머"),
    },
    "parts": {
        "plain": ("all parts", "모두 갖춘 모델"),
        "no-scale": ("no √d_k", "√d_k 없음"),
        "no-residual": ("no residual connections", "잔차 연결 없음"),
        "no-norm": ("no layer norm", "레이어 정규화 없음"),
        "one-head": ("one head", "헤드 하나"),
        "one-head-no-scale": ("one head, no √d_k", "헤드 하나, √d_k 없음"),
        "no-positions": ("no positions", "위치 정보 없음"),
        "learned-positions": ("learned positions", "학습한 위치"),
        "rotary-positions": ("rotary positions", "회전 위치"),
    },
    "forcing": {
        "1": ("1: the reference", "1: 정답만"),
        "0.5": ("0.5, one-pass guesses", "0.5, 한 번에 예측"),
        "0.5-rollout": ("0.5, rollout", "0.5, 롤아웃"),
        "0": ("0, one-pass guesses", "0, 한 번에 예측"),
        "0-rollout": ("0, rollout", "0, 롤아웃"),
    },
    "positions": {
        "sinusoidal": ("sinusoidal", "사인·코사인"),
        "learned": ("learned", "학습한 위치"),
        "rotary": ("rotary", "회전 위치"),
        "none": ("none", "위치 없음"),
        "all-lengths": ("sinusoidal, all lengths", "사인·코사인, 모든 길이"),
    },
}
SHIFTED = (("parts", "plain"), ("parts", "learned-positions"), ("parts", "rotary-positions"))
SHIFTED_WORDS = (("positions", "sinusoidal"), ("positions", "learned"), ("positions", "rotary"))


@dataclass(frozen=True)
class Finding:
    """A claim of the notes, what became of it, and the numbers."""

    page: str
    claim: Words
    verdict: str
    numbers: Words

    def line(self, language: int) -> str:
        return f"- {self.claim[language]} **{VERDICTS[self.verdict][language]}** {self.numbers[language]}\n"


class Results:
    """The trainings, by experiment and variant, each with its seeds in order."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.records = sorted(records, key=lambda one: one["seed"])

    def of(self, experiment: str, variant: str, *path: str | int) -> list[Any]:
        """Every seed's record, or what stands at this path in it."""
        found: list[Any] = [
            one for one in self.records if (one["experiment"], one["variant"]) == (experiment, variant)
        ]
        if not found:
            raise SystemExit(f"no results of {experiment}/{variant}: run benchmarks/experiments.py")
        for key in path:
            found = [one[key] for one in found]
        return found

    def exact(self, experiment: str, variant: str) -> list[float]:
        return self.of(experiment, variant, "scores", "value")

    def third(self, variant: str, third: int) -> list[float]:
        return self.of("bottleneck", variant, "scores", "thirds", third, "value")

    def tokens(self, experiment: str, variant: str, what: str) -> list[float]:
        return self.of(experiment, variant, "scores", "tokens", what)

    def shifts(self, experiment: str, variant: str) -> list[dict[int, float]]:
        """Of each seed, the score at each shift."""
        tests = self.of(experiment, variant, "scores", "shifts")
        return [{row["by"]: row["value"] for row in test} for test in tests]

    def letters(self, variant: str) -> list[dict[int, float]]:
        """Of each seed, the phoneme error rate of words of each length from three letters on."""
        tests = self.of("positions", variant, "scores", "lengths")
        return [{row["letters"]: row["per"] for row in test if row["letters"] >= 3} for test in tests]

    def errors(self, variant: str, letters: range) -> list[float]:
        """Phoneme error rate of words of these lengths together."""
        found = []
        for test in self.of("positions", variant, "scores", "lengths"):
            rows = [row for row in test if row["letters"] in letters]
            weights = [row["n"] * row["letters"] for row in rows]  # about as many phonemes
            found.append(sum(row["per"] * n for row, n in zip(rows, weights, strict=True)) / sum(weights))
        return found


def verdict(better: Sequence[float], worse: Sequence[float]) -> str:
    """Of the claim that the first are higher: every seed has to lie above every seed of the others."""
    return "holds" if min(better) > max(worse) else "fails" if min(worse) > max(better) else "undecided"


def spread(values: Sequence[float], unit: str = "") -> str:
    """Mean, and the least and the most of the seeds."""
    return f"{mean(values):.1f}{unit} ({min(values):.1f}–{max(values):.1f})"


def told(values: Sequence[float]) -> str:
    return spread(values, " %")


def against(some: Sequence[float], others: Sequence[float]) -> Words:
    return f"{told(some)} against {told(others)}.", f"{told(some)} 대 {told(others)}."


def findings(results: Results) -> list[Finding]:
    return [*bottleneck(results), *parts(results), *forcing(results), *positions(results)]


def bottleneck(results: Results) -> Iterator[Finding]:
    page = "bottleneck"
    short, long = results.third("rnn", 0), results.third("rnn", 2)
    yield Finding(
        page,
        (
            "One fixed vector reads short sources and loses long ones (note 001).",
            "고정 벡터 하나는 짧은 입력은 읽지만 긴 입력은 놓칩니다(노트 001).",
        ),
        verdict(short, long),
        (
            f"RNN: {told(short)} of the shortest third, {told(long)} of the longest.",
            f"RNN은 가장 짧은 3분의 1에서 {told(short)}, 가장 긴 3분의 1에서 {told(long)}를 맞힙니다.",
        ),
    )
    luong, first = results.third("luong", 2), results.third("luong", 0)
    yield Finding(
        page,
        ("Attention takes that loss away (note 001).", "어텐션을 쓰면 긴 입력도 놓치지 않습니다(노트 001)."),
        verdict(luong, long),
        (
            f"Longest third, Luong against the RNN with the same encoder: {against(luong, long)[ENGLISH]} "
            f"On the shortest third Luong has {told(first)}.",
            f"가장 긴 3분의 1에서 Luong과 인코더가 같은 RNN: {against(luong, long)[KOREAN]} "
            f"가장 짧은 3분의 1에서 Luong은 {told(first)}입니다.",
        ),
    )
    transformer = results.third("transformer", 2)
    yield Finding(
        page,
        (
            "Self-attention without recurrence keeps long sources, too (notes 001, 003).",
            "순환 없이 셀프 어텐션만으로도 긴 입력을 놓치지 않습니다(노트 001, 003).",
        ),
        verdict(transformer, long),
        (
            f"Longest third, Transformer against RNN: {against(transformer, long)[ENGLISH]}",
            f"가장 긴 3분의 1에서 트랜스포머와 RNN: {against(transformer, long)[KOREAN]}",
        ),
    )


PART_CLAIMS: Sequence[tuple[Words, str, str]] = (  # claim, the model that should be better, the other
    (
        (
            "Dividing by √d_k helps learning (notes 002, 004); four heads, d_k = 16.",
            "√d_k로 나누면 학습이 잘됩니다(노트 002, 004). 헤드 넷, d_k = 16.",
        ),
        "plain",
        "no-scale",
    ),
    (
        (
            "And so with a wider head (note 002): one head, d_k = 64.",
            "더 넓은 헤드에서도 나누면 학습이 잘됩니다(노트 002). 헤드 하나, d_k = 64.",
        ),
        "one-head",
        "one-head-no-scale",
    ),
    (
        (
            "Residual connections are essential (notes 001, 003, 004).",
            "잔차 연결은 꼭 필요합니다(노트 001, 003, 004).",
        ),
        "plain",
        "no-residual",
    ),
    (
        ("Layer norm helps learning (notes 003, 004).", "레이어 정규화는 학습을 돕습니다(노트 003, 004)."),
        "plain",
        "no-norm",
    ),
    (
        (
            "Several heads do better than one (notes 001, 003, 004).",
            "헤드는 하나보다 여럿이 낫습니다(노트 001, 003, 004).",
        ),
        "plain",
        "one-head",
    ),
    (
        (
            "Without positions the model does not know the order (notes 001, 003, 004).",
            "위치 정보가 없으면 모델은 순서를 모릅니다(노트 001, 003, 004).",
        ),
        "plain",
        "no-positions",
    ),
)


def parts(results: Results) -> Iterator[Finding]:
    page = "parts"
    for claim, good, bad in PART_CLAIMS:
        some, others = results.exact(page, good), results.exact(page, bad)
        english, korean = (
            f"{MODELS[page][good][one]}: {told(some)}; {MODELS[page][bad][one]}: {told(others)}."
            for one in (ENGLISH, KOREAN)
        )
        yield Finding(page, claim, verdict(some, others), (english[0].upper() + english[1:], korean))
    plain, learned, rotary, none = (
        results.exact(page, name)
        for name in ("plain", "learned-positions", "rotary-positions", "no-positions")
    )
    yield Finding(
        page,
        (
            "Sines and cosines or a learned table: either tells the order (note 001).",
            "사인·코사인이든 학습한 표든 순서를 알려 줍니다(노트 001).",
        ),
        verdict([*plain, *learned], none),
        (
            f"Sinusoidal {told(plain)}, learned {told(learned)}; rotary, which no note has, {told(rotary)}.",
            f"사인·코사인 {told(plain)}, 학습한 위치 {told(learned)}, 노트에 없는 회전 위치 {told(rotary)}.",
        ),
    )


def forcing(results: Results) -> Iterator[Finding]:
    page, own = "forcing", "0-rollout"
    half = [
        [course[len(course) // 2 - 1] for course in results.of(page, name, "course", "exact")]
        for name in ("1", own)
    ]
    yield Finding(
        page,
        (
            "The reference as input teaches faster than the model's own tokens (note 001): halfway.",
            "정답을 입력으로 주면 자기 출력을 줄 때보다 더 빨리 배웁니다(노트 001). 학습 중간.",
        ),
        verdict(half[0], half[1]),
        (
            f"Exact match of 200 validation dates, reference against rollout: {against(*half)[ENGLISH]}",
            f"검증 날짜 200개의 완전 일치, 정답과 롤아웃: {against(*half)[KOREAN]}",
        ),
    )
    end = results.exact(page, "1"), results.exact(page, own)
    yield Finding(
        page,
        (
            "The reference teaches faster: at the end.",
            "정답을 입력으로 주면 더 빨리 배웁니다. 학습이 끝났을 때.",
        ),
        verdict(*end),
        (
            f"Exact match of 2,000 test dates: {against(*end)[ENGLISH]}",
            f"시험 날짜 2,000개의 완전 일치: {against(*end)[KOREAN]}",
        ),
    )
    forced, free = (results.tokens("bottleneck", "rnn", what) for what in ("forced", "free"))
    few = [results.tokens(page, "1", what) for what in ("forced", "free")]
    yield Finding(
        page,
        (
            "Errors pile up when a model reads its own output (note 001).",
            "모델이 자기 출력을 읽으면 오차가 쌓입니다(노트 001).",
        ),
        verdict(forced, free),
        (
            f"The [RNN](bottleneck.md), which errs often, finds {told(forced)} of the tokens when it reads "
            f"the reference and {told(free)} when it reads itself. Where a model hardly errs nothing "
            f"piles up: the Luong model of this page finds {told(few[0])} and {told(few[1])}.",
            f"자주 틀리는 [RNN](bottleneck.ko.md)은 정답을 읽으면 토큰의 {told(forced)}를, "
            f"자기 출력을 읽으면 {told(free)}를 맞힙니다. 거의 틀리지 않으면 쌓일 것도 없습니다. "
            f"이 실험의 Luong 모델은 {told(few[0])}와 {told(few[1])}입니다.",
        ),
    )
    tried, wrong = (results.tokens(page, name, "after_wrong") for name in (own, "1"))
    seen = results.tokens(page, "1", "seen_wrong")
    yield Finding(
        page,
        (
            "Training on one's own tokens helps after an error (no note says it; Bengio et al. 2015 do).",
            "자기 출력으로 학습하면 틀린 뒤에 더 잘 이어 갑니다(노트에는 없고 Bengio 등 2015의 주장).",
        ),
        verdict(tried, wrong),
        (
            f"Tokens right after a wrong one, rollout against reference: {against(tried, wrong)[ENGLISH]} "
            f"The latter are few: {min(seen)} to {max(seen)} tokens.",
            f"틀린 뒤에 맞힌 토큰, 롤아웃과 정답: {against(tried, wrong)[KOREAN]} "
            f"뒤의 것은 토큰이 {min(seen)}~{max(seen)}개뿐입니다.",
        ),
    )


def positions(results: Results) -> Iterator[Finding]:
    page, long, short = "positions", range(LONG, 99), range(1, training_length(results) + 1)
    sines, every = results.errors("sinusoidal", long), results.errors("all-lengths", long)
    near, rotary = results.errors("sinusoidal", short), results.errors("rotary", long)
    yield Finding(
        page,
        (
            "Sines and cosines generalise to lengths that were never seen (note 001).",
            "사인·코사인은 본 적 없는 길이로도 일반화합니다(노트 001).",
        ),
        "fails" if verdict(sines, near) == "holds" and verdict(sines, every) == "holds" else "undecided",
        (
            f"Phoneme errors rise from {told(near)} in words as short as those of training to {told(sines)} "
            f"in words of {LONG} letters and more; trained on all lengths, the latter have {told(every)}.",
            f"음소 오류율이 학습 때만큼 짧은 단어의 {told(near)}에서 {LONG}글자 이상인 단어의 "
            f"{told(sines)}로 올라갑니다. 모든 길이로 학습하면 긴 단어도 {told(every)}입니다.",
        ),
    )
    yield Finding(
        page,
        (
            "Distances instead of places (rotary) reach further (no note says it; Su et al. 2021 do).",
            "자리 대신 거리를 쓰면(회전 위치) 더 멀리까지 통합니다(노트에는 없고 Su 등 2021의 주장).",
        ),
        verdict(sines, rotary),
        (
            f"Phoneme errors in long words, rotary against sinusoidal: {against(rotary, sines)[ENGLISH]}",
            f"긴 단어의 음소 오류율, 회전 위치와 사인·코사인: {against(rotary, sines)[KOREAN]}",
        ),
    )
    dates, turned, words = (
        [[one[by] for one in results.shifts(*name)] for by in (0, 1, 5)]
        for name in (("parts", "plain"), ("parts", "rotary-positions"), ("positions", "sinusoidal"))
    )
    yield Finding(
        page,
        (
            "Sines and cosines keep the pattern, as they express distances (note 001): moved on by one.",
            "사인·코사인은 상대 거리도 나타내므로 패턴이 유지됩니다(노트 001). 한 칸 뒤로 옮겼을 때.",
        ),
        "fails" if verdict(dates[0], dates[1]) == "holds" else "undecided",
        (
            f"Exact match of dates falls from {told(dates[0])} to {told(dates[1])}; rotary: "
            f"{told(turned[0])} and {told(turned[1])}. Phoneme errors of words rise from {told(words[0])} to "
            f"{told(words[1])}, and to {told(words[2])} five positions further on.",
            f"날짜의 완전 일치가 {told(dates[0])}에서 {told(dates[1])}로 떨어집니다. 회전 위치는 "
            f"{told(turned[0])}에서 {told(turned[1])}로 그대로입니다. 단어의 음소 오류율은 "
            f"{told(words[0])}에서 {told(words[1])}로, 다섯 칸 옮기면 {told(words[2])}로 올라갑니다.",
        ),
    )


def training_length(results: Results) -> int:
    """Letters of the longest word that the models of short words learned from."""
    return int(results.of("positions", "sinusoidal", "settings", "data.max_length")[0])


def about(records: Sequence[Mapping[str, Any]]) -> Words:
    """How many trainings, where, with what, and how long they took together."""
    places = Counter((one["machine"], one["versions"]["torch"]) for one in records)
    english, korean = list[str](), list[str]()
    for (machine, torch), count in places.most_common():
        name, _, cores = re.sub(r"\([RTM]+\)| Processor", "", machine).rpartition(", ")
        version = ".".join(torch.split(".")[:2])
        some = (f"{count} on ", f"에서 {count}번") if len(places) > 1 else ("", "")
        english.append(f"{some[ENGLISH]}{cores} of an {name}, torch {version}")
        korean.append(f"{name} 코어 {cores.split()[0]}개, torch {version}{some[KOREAN]}")
    hours, seeds = sum(one["core_seconds"] for one in records) / 3600, len({one["seed"] for one in records})
    return (
        f"{len(records)} trainings with {seeds} seeds ({'; '.join(english)}) "
        f"took {hours:.1f} hours of one core.\n",
        f"시드 {seeds}개로 모두 {len(records)}번 학습했습니다({'; '.join(korean)}). "
        f"합하면 코어 하나로 {hours:.1f}시간입니다.\n",
    )


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose first column holds names, all others numbers."""
    head = list(head)
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def tables(results: Results, language: int) -> dict[str, str]:
    def rows(page: str, *columns: tuple[str | int, ...]) -> Iterator[list[str]]:
        for variant, name in MODELS[page].items():
            yield [
                name[language],
                *(spread(results.of(page, variant, *path)) for path in columns),
                f"{results.of(page, variant, 'parameters')[0]:,}",
            ]

    exact, core = ("scores", "value"), ("core_seconds",)
    say = [
        ("model", "exact match", "tokens right after the reference", "seconds of a core", "parameters"),
        ("모델", "완전 일치", "정답 뒤에 맞는 토큰", "코어 하나로 걸린 초", "파라미터"),
    ][language]
    thirds = results.of("bottleneck", "rnn", "scores", "thirds")[0]
    letters, shifts = (5, 7, 8, 9, 10, 12), [*results.shifts("parts", "plain")[0]]
    return {
        "bottleneck-table": table(
            [
                say[0],
                *(f"{one['lo']}–{one['hi']}{(' characters', '글자')[language]}" for one in thirds),
                ("all", "전체")[language],
                say[4],
            ],  # no seconds: not all of them were trained on one machine
            rows("bottleneck", *(("scores", "thirds", n, "value") for n in range(3)), exact),
        ),
        "parts-table": table(say, rows("parts", exact, ("scores", "tokens", "forced"), core)),
        "forcing-table": table(
            [
                *say[:3],
                *(("after its own", "after a wrong one"), ("자기 출력 뒤", "틀린 뒤"))[language],
                *say[3:],
            ],
            rows(
                "forcing",
                exact,
                *(("scores", "tokens", what) for what in ("forced", "free", "after_wrong")),
                core,
            ),
        ),
        "positions-table": table(
            [("positions", "위치")[language], *(f"{n}{(' letters', '글자')[language]}" for n in letters)],
            (
                [name[language], *(spread([one[n] for one in results.letters(variant)]) for n in letters)]
                for variant, name in MODELS["positions"].items()
            ),
        ),
        "shifts-table": table(
            [("positions", "위치")[language], *(f"+{by}" for by in shifts)],
            (
                [
                    f"{words[language]}{MODELS['positions'][kind][language]}",
                    *(spread([one[by] for one in results.shifts(*name)]) for by in shifts),
                ]
                for words, names in ((("dates, ", "날짜, "), SHIFTED), (("words, ", "단어, "), SHIFTED_WORDS))
                for kind, name in zip(MODELS["positions"], names, strict=False)
            ),
        ),
    }


def texts(results: Results, language: int) -> dict[str, str]:
    """The text of every block: findings, tables, the overview, and where it was done."""
    found = findings(results)
    head = ("| claim | here | page |", "| 주장 | 결과 | 실험 |")[language]
    overview = [
        f"| {one.claim[language].rstrip('.')} | {VERDICTS[one.verdict][language].rstrip('.')} "
        f"| [{TITLES[one.page][language]}]({one.page}{ENDINGS[language]}.md) |"
        for one in found
    ]
    return {
        **{page: "".join(one.line(language) for one in found if one.page == page) for page in TITLES},
        **tables(results, language),
        "overview": "\n".join((head, "|---|---|---|", *overview)) + "\n",
        **{
            f"{page}-about": about([one for one in results.records if one["experiment"] == page])[language]
            for page in TITLES
        },
        "about": about(results.records)[language],
    }


def figures(results: Results, language: int) -> Iterator[tuple[str, str]]:
    """Every figure by its name."""
    exact = ("exact match in %", "완전 일치 %")[language]
    seeds = ("; a mark for each seed, the mean behind", ", 점은 시드 하나, 오른쪽 수는 평균")[language]
    for page, title in (
        ("parts", ("A Transformer without one of its parts", "부품을 하나씩 뺀 트랜스포머")),
        ("forcing", ("What the decoder was fed in training", "학습 때 디코더에 넣은 것")),
    ):
        rows = [
            DotRow(name[language], results.exact(page, key), 1 if key in ("plain", "1") else 2)
            for key, name in MODELS[page].items()
        ]
        yield page, dots(title[language], exact + seeds, rows)

    def series(page: str, values: Mapping[str, Sequence[Mapping[Any, float]]]) -> list[SeedLine]:
        return [
            SeedLine(MODELS[page][key][language], [*seeds[0]], [[*seed.values()] for seed in seeds], colour)
            for colour, (key, seeds) in enumerate(values.items(), start=1)
        ]

    thirds = results.of("bottleneck", "rnn", "scores", "thirds")[0]
    yield (
        "bottleneck",
        lines(
            ("One fixed vector against attention", "고정 벡터와 어텐션")[language],
            (("source characters: the test in thirds", "입력 글자 수, 3등분한 시험 데이터")[language], exact),
            series(
                "bottleneck",
                {
                    name: [
                        {place: third["value"] for place, third in enumerate(one)}
                        for one in results.of("bottleneck", name, "scores", "thirds")
                    ]
                    for name in MODELS["bottleneck"]
                },
            ),
            names=lambda place: f"{thirds[int(place)]['lo']}–{thirds[int(place)]['hi']}",
        ),
    )
    yield (
        "forcing-course",
        lines(
            ("Exact match while learning", "학습하는 동안의 완전 일치")[language],
            (
                ("updates", "갱신 횟수")[language],
                ("% of 200 validation dates", "검증 날짜 200개 중 %")[language],
            ),
            series(
                "forcing",
                {
                    name: [
                        dict(zip(one["update"], one["exact"], strict=True))
                        for one in results.of("forcing", name, "course")
                    ]
                    for name in ("1", "0", "0-rollout")  # the others lie with the first
                },
            ),
        ),
    )
    yield (
        "positions",
        lines(
            ("Words longer than those of training", "학습한 것보다 긴 단어")[language],
            (
                ("letters of the word; 14: and more", "단어의 글자 수, 14는 그 이상 모두")[language],
                ("phoneme errors in %, lower is better", "음소 오류율 %, 낮을수록 좋음")[language],
            ),
            series("positions", {name: results.letters(name) for name in MODELS["positions"]}),
            mark=(
                training_length(results),
                ("longest of training", "학습한 가장 긴 단어")[language],
            ),
        ),
    )
    shifts = [*results.shifts("parts", "plain")[0]]  # side by side, whatever lies between them
    yield (
        "shifted-dates",
        lines(
            ("Dates read further on", "뒤로 옮겨 읽은 날짜")[language],
            (("positions further on", "뒤로 옮긴 칸 수")[language], exact),
            series(
                "positions",
                {
                    kind: [dict(enumerate(one.values())) for one in results.shifts(*name)]
                    for kind, name in zip(MODELS["positions"], SHIFTED, strict=False)
                },
            ),
            names=lambda place: str(shifts[int(place)]),
        ),
    )


def made(records: Sequence[Mapping[str, Any]]) -> dict[Path, str]:
    """Every file that follows from the results: figures, and the pages with what is made in them."""
    results = Results(records)
    files = dict[Path, str]()
    for language, ending in enumerate(ENDINGS):
        words = texts(results, language)
        for page in (PAGES / f"{name}{ending}.md" for name in ("README", *TITLES)):
            files[page] = filled(page.read_text("utf-8"), words)
        for name, drawing in figures(results, language):
            files[PAGES / "images" / f"{name}{ending}.svg"] = drawing
    return files


def filled(text: str, words: Mapping[str, str]) -> str:
    return BLOCK.sub(lambda block: block[1] + words[block[2]] + block[4], text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    options = parser.parse_args()
    with RESULTS.open(encoding="utf-8") as results:
        files = made([json.loads(line) for line in results])
    differing = [file for file, text in files.items() if not file.exists() or file.read_text("utf-8") != text]
    for file in differing:
        print(f"{file.relative_to(ROOT)} {'differs from the results' if options.check else 'written'}")
        if not options.check:
            file.parent.mkdir(exist_ok=True)
            file.write_text(files[file], "utf-8")
    if options.check and differing:
        sys.exit("run: python scripts/make_experiments.py")


if __name__ == "__main__":
    main()
