"""Draw the figures of docs/experiments and say what was found, from benchmarks/experiments.jsonl.

    python scripts/make_experiments.py            # write figures and findings, then the tables
    python scripts/make_experiments.py --check    # or only say what differs, with status 1

A finding stands between `<!-- finding NAME -->` and `<!-- end of finding -->` of a page. Its words are chosen
by the numbers: a difference is claimed only where all seeds of one lie above all seeds of the other.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make_tables
from charts import DotRow, SeedLine, dots, lines

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "experiments.jsonl"
PAGES = ROOT / "docs" / "experiments"
BLOCK = re.compile(r"(<!-- finding ([\w-]+) -->\n)(.*?)(<!-- end of finding -->)", re.DOTALL)

Words = tuple[str, str]  # English, Korean
ENGLISH, KOREAN = 0, 1
ENDINGS = ("", ".ko")
LONG = 10  # letters from which a word is called long
FAR = 20  # positions that a shift is spoken of at

VERDICTS: Mapping[str, Words] = {
    "holds": ("Holds here.", "여기서도 그렇습니다."),
    "unseen": ("Not seen here.", "여기서는 보이지 않습니다."),
    "fails": ("Does not hold here.", "여기서는 그렇지 않습니다."),
}
PARTS: Mapping[str, Words] = {
    "plain": ("all parts", "모두 갖춘 모델"),
    "no-scale": ("no √d_k", "√d_k 없음"),
    "no-residual": ("no residual connections", "잔차 연결 없음"),
    "no-norm": ("no layer norm", "층 정규화 없음"),
    "one-head": ("one head", "헤드 하나"),
    "one-head-no-scale": ("one head, no √d_k", "헤드 하나, √d_k 없음"),
    "no-positions": ("no positions", "위치 정보 없음"),
    "learned-positions": ("learned positions", "학습한 위치"),
    "rotary-positions": ("rotary positions", "회전 위치"),
}
FORCING: Mapping[str, Words] = {
    "1": ("1: the reference", "1: 정답만"),
    "0.5": ("0.5, one-pass guesses", "0.5, 한 번에 예측"),
    "0.5-rollout": ("0.5, rollout", "0.5, 롤아웃"),
    "0": ("0, one-pass guesses", "0, 한 번에 예측"),
    "0-rollout": ("0, rollout", "0, 롤아웃"),
}
KINDS: Mapping[str, Words] = {
    "sinusoidal": ("sinusoidal", "사인·코사인"),
    "learned": ("learned", "학습한 위치"),
    "rotary": ("rotary", "회전 위치"),
    "none": ("none", "위치 없음"),
    "all-lengths": ("all lengths", "모든 길이로 학습"),
}
MODELS = ("rnn", "luong", "transformer")


@dataclass(frozen=True)
class Finding:
    """A claim of the notes, what became of it, and the numbers."""

    page: str
    claim: Words
    verdict: str
    numbers: Words

    def line(self, language: int) -> str:
        bold = VERDICTS[self.verdict][language]
        return f"- {self.claim[language]} **{bold}** {self.numbers[language]}\n"


class Results:
    """The trainings, by experiment and variant, each with its seeds in order."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.records = sorted(records, key=lambda one: one["seed"])

    def of(self, experiment: str, variant: str) -> list[Mapping[str, Any]]:
        found = [one for one in self.records if (one["experiment"], one["variant"]) == (experiment, variant)]
        if not found:
            raise SystemExit(f"no results of {experiment}/{variant}: run benchmarks/experiments.py")
        return found

    def values(self, experiment: str, variant: str) -> list[float]:
        return [one["scores"]["value"] for one in self.of(experiment, variant)]

    def thirds(self, variant: str, third: int) -> list[float]:
        return [one["scores"]["thirds"][third]["value"] for one in self.of("bottleneck", variant)]

    def tokens(self, variant: str, what: str) -> list[float]:
        return [one["scores"]["tokens"][what] for one in self.of("forcing", variant)]

    def course(self, variant: str, share: float) -> list[float]:
        """Exact match on the validation pairs after this share of the updates."""
        courses = [one["course"]["exact"] for one in self.of("forcing", variant)]
        return [course[max(round(share * len(course)) - 1, 0)] for course in courses]

    def errors(self, variant: str, *, long: bool) -> list[float]:
        """Phoneme error rate of long words, or of those that are no longer than what was learned from."""
        short = self.of("positions", "sinusoidal")[0]["settings"]["data.max_length"]
        found = []
        for one in self.of("positions", variant):
            rows = [
                row
                for row in one["scores"]["lengths"]
                if (row["letters"] >= LONG if long else row["letters"] <= short)
            ]
            weights = [row["n"] * row["letters"] for row in rows]  # about as many phonemes
            found.append(sum(row["per"] * n for row, n in zip(rows, weights, strict=True)) / sum(weights))
        return found

    def shifted(self, experiment: str, variant: str, by: int) -> list[float]:
        return [
            next(row["value"] for row in one["scores"]["shifts"] if row["by"] == by)
            for one in self.of(experiment, variant)
        ]


def above(some: Sequence[float], others: Sequence[float]) -> bool:
    """Whether every seed of one lies above every seed of the other."""
    return min(some) > max(others)


def verdict(some: Sequence[float], others: Sequence[float]) -> str:
    """Of the claim that the first are better."""
    return "holds" if above(some, others) else "fails" if above(others, some) else "unseen"


def told(values: Sequence[float]) -> str:
    """Mean, and the least and the most of the seeds."""
    return f"{mean(values):.1f} % ({min(values):.1f}–{max(values):.1f})"


def against(some: Sequence[float], others: Sequence[float]) -> Words:
    return f"{told(some)} against {told(others)}.", f"{told(some)} 대 {told(others)}."


def findings(results: Results) -> list[Finding]:
    return [*bottleneck(results), *parts(results), *forcing(results), *positions(results)]


def bottleneck(results: Results) -> Iterator[Finding]:
    short, long = results.thirds("rnn", 0), results.thirds("rnn", 2)
    yield Finding(
        "bottleneck",
        (
            "One fixed vector reads short sources and loses long ones (note 001).",
            "고정 벡터 하나는 짧은 입력은 읽지만 긴 입력은 놓친다(노트 001).",
        ),
        verdict(short, long),
        (
            f"RNN: {told(short)} of the shortest third, {told(long)} of the longest.",
            f"RNN: 가장 짧은 3분의 1에서 {told(short)}, 가장 긴 3분의 1에서 {told(long)}.",
        ),
    )
    luong = results.thirds("luong", 2)
    yield Finding(
        "bottleneck",
        (
            "Attention takes that loss away (note 001).",
            "어텐션은 그 손실을 없앤다(노트 001).",
        ),
        verdict(luong, long),
        (
            f"Longest third, Luong against RNN with the same encoder: {against(luong, long)[0]} "
            f"On the shortest third Luong has {told(results.thirds('luong', 0))}.",
            f"가장 긴 3분의 1, 같은 인코더의 Luong과 RNN: {against(luong, long)[1]} "
            f"가장 짧은 3분의 1에서 Luong은 {told(results.thirds('luong', 0))}입니다.",
        ),
    )
    transformer = results.thirds("transformer", 2)
    yield Finding(
        "bottleneck",
        (
            "Self-attention alone, without recurrence, keeps long sources, too (notes 001, 003).",
            "순환 없이 셀프 어텐션만으로도 긴 입력을 놓치지 않는다(노트 001, 003).",
        ),
        verdict(transformer, long),
        (
            f"Longest third, Transformer against RNN: {against(transformer, long)[0]}",
            f"가장 긴 3분의 1, 트랜스포머와 RNN: {against(transformer, long)[1]}",
        ),
    )


def parts(results: Results) -> Iterator[Finding]:
    plain = results.values("parts", "plain")
    claims: Sequence[tuple[Words, str, str]] = (
        (
            (
                "Without √d_k learning is less stable (notes 002, 003, 004); four heads, d_k = 16.",
                "√d_k로 나누지 않으면 학습이 불안정해진다(노트 002, 003, 004). 헤드 넷, d_k = 16.",
            ),
            "plain",
            "no-scale",
        ),
        (
            ("The same with one head, d_k = 64.", "같은 주장, 헤드 하나, d_k = 64."),
            "one-head",
            "one-head-no-scale",
        ),
        (
            (
                "Residual connections are essential (notes 001, 003, 004).",
                "잔차 연결은 필수다(노트 001, 003, 004).",
            ),
            "plain",
            "no-residual",
        ),
        (
            (
                "Layer norm stabilises learning (notes 003, 004).",
                "층 정규화는 학습을 안정시킨다(노트 003, 004).",
            ),
            "plain",
            "no-norm",
        ),
        (
            (
                "Several heads are richer than one (notes 001, 003, 004).",
                "헤드가 여럿이면 하나일 때보다 표현이 풍부하다(노트 001, 003, 004).",
            ),
            "plain",
            "one-head",
        ),
        (
            (
                "Without positions the model does not know the order (notes 001, 003, 004).",
                "위치 정보가 없으면 모델은 순서를 모른다(노트 001, 003, 004).",
            ),
            "plain",
            "no-positions",
        ),
    )
    for claim, good, bad in claims:
        some, others = results.values("parts", good), results.values("parts", bad)
        names = tuple(f"{PARTS[good][one]}, {PARTS[bad][one]}: " for one in (ENGLISH, KOREAN))
        numbers = against(some, others)
        yield Finding("parts", claim, verdict(some, others), (names[0] + numbers[0], names[1] + numbers[1]))
    learned, rotary, none = (
        results.values("parts", f"{kind}-positions") for kind in ("learned", "rotary", "no")
    )
    yield Finding(
        "parts",
        (
            "Sines and cosines or a learned table: either tells the order (note 001).",
            "사인·코사인이든 학습한 표든 순서를 알려 준다(노트 001).",
        ),
        "holds" if above(plain, none) and above(learned, none) else "unseen",
        (
            f"Sinusoidal {told(plain)}, learned {told(learned)}; rotary, which no note has, {told(rotary)}.",
            f"사인·코사인 {told(plain)}, 학습한 위치 {told(learned)}, 노트에 없는 회전 위치 {told(rotary)}.",
        ),
    )


def forcing(results: Results) -> Iterator[Finding]:
    own = "0-rollout"
    for share, when in (
        (0.5, ("after half of the updates", "절반까지 학습했을 때")),
        (1.0, ("at the end", "끝까지 학습했을 때")),
    ):
        some, others = results.course("1", share), results.course(own, share)
        numbers = against(some, others)
        yield Finding(
            "forcing",
            (
                f"The reference as input teaches faster than the model's own tokens (note 001), {when[0]}.",
                f"정답을 입력으로 주면 제 출력을 줄 때보다 빨리 배운다(노트 001), {when[1]}.",
            ),
            verdict(some, others),
            (f"Exact match in validation: {numbers[0]}", f"검증 데이터의 완전 일치: {numbers[1]}"),
        )
    right, wrong = results.tokens("1", "after_right"), results.tokens("1", "after_wrong")
    yield Finding(
        "forcing",
        (
            "Errors pile up when the model reads its own output (note 001).",
            "모델이 제 출력을 읽으면 오차가 쌓인다(노트 001).",
        ),
        verdict(right, wrong),
        (
            f"A token is right after right ones in {told(right)}, after a wrong one in {told(wrong)}.",
            f"앞이 모두 맞으면 {told(right)}, 앞에 틀린 것이 있으면 {told(wrong)}의 토큰이 맞습니다.",
        ),
    )
    tried = results.tokens(own, "after_wrong")
    yield Finding(
        "forcing",
        (
            "Training on one's own tokens helps after an error (no note says it; Bengio et al. 2015 do).",
            "제 출력으로 학습하면 틀린 뒤에 더 잘 이어 간다(노트에는 없고 Bengio 등 2015의 주장).",
        ),
        verdict(tried, wrong),
        (
            f"Tokens right after a wrong one, rollout against teacher forcing: {against(tried, wrong)[0]}",
            f"틀린 뒤에 맞는 토큰, 롤아웃과 교사 강요: {against(tried, wrong)[1]}",
        ),
    )


def positions(results: Results) -> Iterator[Finding]:
    short, every = results.errors("sinusoidal", long=True), results.errors("all-lengths", long=True)
    near, rotary = results.errors("sinusoidal", long=False), results.errors("rotary", long=True)
    yield Finding(
        "positions",
        (
            "Sines and cosines work the same at lengths that were never seen (note 001).",
            "사인·코사인은 본 적 없는 길이에서도 똑같이 통한다(노트 001).",
        ),
        "fails" if above(short, every) else "holds",
        (
            f"Phoneme errors in words of {LONG} letters and more: {told(short)} when trained on short words, "
            f"{told(every)} when trained on all; in short words {told(near)}.",
            f"{LONG}글자 이상인 단어의 음소 오류율: 짧은 단어로 학습하면 {told(short)}, 모든 길이로 학습하면 "
            f"{told(every)}. 짧은 단어에서는 {told(near)}.",
        ),
    )
    yield Finding(
        "positions",
        (
            "Distances instead of places (rotary) reach further (no note says it; Su et al. 2021 do).",
            "자리 대신 거리를 쓰면(회전 위치) 더 멀리까지 통한다(노트에는 없고 Su 등 2021의 주장).",
        ),
        verdict(short, rotary),
        (
            f"Phoneme errors in long words, rotary against sinusoidal: {against(rotary, short)[0]}",
            f"긴 단어의 음소 오류율, 회전 위치와 사인·코사인: {against(rotary, short)[1]}",
        ),
    )
    here, far = (results.shifted("parts", "plain", by) for by in (0, FAR))
    turned = [results.shifted("parts", "rotary-positions", by) for by in (0, FAR)]
    yield Finding(
        "positions",
        (
            f"The pattern stays the same wherever a sentence begins (note 001), {FAR} positions further on.",
            f"문장이 어디서 시작하든 패턴은 같다(노트 001), {FAR}칸 뒤로 옮겼을 때.",
        ),
        "fails" if above(here, far) else "holds",
        (
            f"Exact match of dates falls from {told(here)} to {told(far)} with sinusoidal positions; "
            f"rotary: {told(turned[0])} and {told(turned[1])}.",
            f"날짜의 완전 일치가 사인·코사인에서는 {told(here)}에서 {told(far)}로, 회전 위치에서는 "
            f"{told(turned[0])}에서 {told(turned[1])}로 바뀝니다.",
        ),
    )


TITLES: Mapping[str, Words] = {
    "bottleneck": ("The fixed vector, by length", "길이에 따른 고정 벡터"),
    "parts": ("Parts taken away", "부품 빼기"),
    "forcing": ("Teacher forcing", "교사 강요"),
    "positions": ("Positions past the training length", "학습한 길이를 넘는 위치"),
}


def about(results: Results) -> Words:
    """How many trainings, where, with what, and how long they took together."""
    records = results.records
    machines, torches, pythons = (
        " / ".join(sorted({str(value(one)) for one in records}))
        for value in (
            lambda one: one["machine"],
            lambda one: one["versions"]["torch"],
            lambda one: one["versions"]["python"],
        )
    )
    hours, seeds = sum(one["core_seconds"] for one in records) / 3600, len({one["seed"] for one in records})
    return (
        f"{len(records)} trainings with {seeds} seeds, {hours:.1f} hours of a core together; {machines}; "
        f"Python {pythons}, torch {torches}.\n",
        f"학습 {len(records)}번, 시드 {seeds}개, 모두 합해 코어 하나로 {hours:.1f}시간. {machines}. "
        f"Python {pythons}, torch {torches}.\n",
    )


def texts(found: Sequence[Finding], language: int) -> dict[str, str]:
    """The text of every finding block: one for each page, and the overview."""
    blocks = {page: "".join(one.line(language) for one in found if one.page == page) for page in TITLES}
    head = ("| claim | here | page |", "| 주장 | 결과 | 실험 |")[language]
    rows = [
        f"| {one.claim[language].rstrip('.')} | {VERDICTS[one.verdict][language].rstrip('.')} "
        f"| [{TITLES[one.page][language]}]({one.page}{ENDINGS[language]}.md) |"
        for one in found
    ]
    return blocks | {"overview": "\n".join((head, "|---|---|---|", *rows)) + "\n"}


EXACT: Words = (
    "exact match in %; a mark for each seed, the mean behind it",
    "완전 일치 %, 점은 시드 하나, 뒤의 수는 평균",
)


def figures(results: Results, language: int) -> Iterator[tuple[str, str]]:
    """Every figure by its name."""

    def say(words: Words) -> str:
        return words[language]

    rows = [
        DotRow(say(name), results.values("parts", key), 1 if key == "plain" else 2)
        for key, name in PARTS.items()
    ]
    yield (
        "parts",
        dots(
            say(("A Transformer without one of its parts", "부품을 하나씩 뺀 트랜스포머")), say(EXACT), rows
        ),
    )
    yield "bottleneck", by_thirds(results, language)
    rows = [DotRow(say(name), results.values("forcing", key)) for key, name in FORCING.items()]
    yield (
        "forcing",
        dots(say(("What the decoder was fed in training", "학습 때 디코더에 넣은 것")), say(EXACT), rows),
    )
    yield (
        "forcing-course",
        lines(
            say(("Exact match while learning", "학습하는 동안의 완전 일치")),
            (say(("updates", "갱신 횟수")), say(("% of 200 validation pairs", "검증 쌍 200개 중 %"))),
            [
                SeedLine(
                    say(name),
                    results.of("forcing", key)[0]["course"]["update"],
                    [one["course"]["exact"] for one in results.of("forcing", key)],
                    colour,
                )
                for colour, (key, name) in enumerate(FORCING.items(), start=1)
            ],
        ),
    )
    yield "positions", by_letters(results, language)
    dates = {"plain": "sinusoidal", "learned-positions": "learned", "rotary-positions": "rotary"}
    axis = say(("positions further on", "뒤로 옮긴 칸 수"))
    yield (
        "shifted-dates",
        lines(
            say(("Dates read further on", "뒤로 옮겨 읽은 날짜")),
            (axis, say(("exact match in %", "완전 일치 %"))),
            [
                shifted(results, "parts", key, say(KINDS[kind]), n)
                for n, (key, kind) in enumerate(dates.items(), 1)
            ],
            names=lambda place: shift_names(results)[int(place)],
        ),
    )


def shift_names(results: Results) -> list[str]:
    return [str(row["by"]) for row in results.of("parts", "plain")[0]["scores"]["shifts"]]


def shifted(results: Results, experiment: str, variant: str, label: str, colour: int) -> SeedLine:
    """Shifts stand side by side, whatever lies between them."""
    tests = [one["scores"]["shifts"] for one in results.of(experiment, variant)]
    return SeedLine(label, range(len(tests[0])), [[row["value"] for row in test] for test in tests], colour)


def by_thirds(results: Results, language: int) -> str:
    thirds = results.of("bottleneck", "rnn")[0]["scores"]["thirds"]
    return lines(
        ("The same encoder with and without attention", "어텐션이 있을 때와 없을 때")[language],
        (
            ("source characters: the test in thirds", "입력 글자 수, 3등분한 시험 데이터")[language],
            ("exact match in %", "완전 일치 %")[language],
        ),
        [
            SeedLine(
                name,
                range(len(thirds)),
                [
                    [third["value"] for third in one["scores"]["thirds"]]
                    for one in results.of("bottleneck", name)
                ],
                colour,
            )
            for colour, name in enumerate(MODELS, start=1)
        ],
        names=lambda place: f"{thirds[int(place)]['lo']}–{thirds[int(place)]['hi']}",
    )


def by_letters(results: Results, language: int) -> str:
    first = results.of("positions", "sinusoidal")[0]
    limit = first["settings"]["data.max_length"]
    lengths = [row["letters"] for row in first["scores"]["lengths"] if row["letters"] >= 3]
    return lines(
        ("Words longer than those of training", "학습한 것보다 긴 단어")[language],
        (
            ("letters of the word; 14: and more", "단어의 글자 수, 14는 그 이상 모두")[language],
            ("phoneme errors in %, lower is better", "음소 오류율 %, 낮을수록 좋음")[language],
        ),
        [
            SeedLine(
                name[language],
                lengths,
                [
                    [row["per"] for row in one["scores"]["lengths"] if row["letters"] >= 3]
                    for one in results.of("positions", key)
                ],
                colour,
            )
            for colour, (key, name) in enumerate(KINDS.items(), start=1)
        ],
        mark=(limit, ("longest of training", "학습한 가장 긴 단어")[language]),
    )


def made(records: Sequence[Mapping[str, Any]]) -> dict[Path, str]:
    """Every file that follows from the results: figures, and the pages with their findings."""
    results = Results(records)
    found, files = findings(results), dict[Path, str]()
    for language, ending in enumerate(ENDINGS):
        for name, drawing in figures(results, language):
            files[PAGES / "images" / f"{name}{ending}.svg"] = drawing
        words = texts(found, language) | {"about": about(results)[language]}
        for page in (PAGES / f"{name}{ending}.md" for name in ("README", *TITLES)):
            files[page] = filled(page.read_text("utf-8"), words)
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
    sys.argv[1:] = ["--check"] * options.check
    make_tables.main()


if __name__ == "__main__":
    main()
