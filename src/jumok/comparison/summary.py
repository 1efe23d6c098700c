"""A comparison in plain sentences. Each is written from figures of the report, or not at all.

A sentence's function takes the report (schema compare/1) and returns nothing where the figures do not carry
the claim: intervals that overlap, a difference that chance explains, times that differ by less than a
machine's moods. Entries of which the same can be said share a sentence.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jumok.comparison.bins import hopeless
from jumok.comparison.entry import PLAIN, Json, base_of
from jumok.config import Arch
from jumok.settings import Flat, plain_word

CHANCE = 0.05
MOOD = 1.25  # times that differ by less say nothing
STEEPER = 0.1  # by which factors of growth must differ
NEARER = 1.25  # over an even share


def summarise(report: Json) -> list[str]:
    """All sentences that the figures carry, the most telling first."""
    if learned_nothing(report):
        return ["Nothing was learned: every model scores 0. Train longer.", *filter(None, setting(report))]
    return [sentence for write in SENTENCES for sentence in write(report) if sentence]


def learned_nothing(report: Json) -> bool:
    """Whether no model got anything right, so that comparing them says nothing."""
    values = [one["quality"]["value"] for one in report["entries"] if one["quality"]]
    return bool(values) and not report["metric"]["lower_is_better"] and not any(values)


def setting(report: Json) -> Iterator[str]:
    """What was compared, on equal terms or not, and how often."""
    data, entries = report["data"], report["entries"]
    done = [one for one in entries if one["quality"]]
    if not done:
        yield "No model was trained and tested to its end."
        return
    count = "One model was" if len(done) == 1 else f"{len(done)} models were"
    trained = f"trained on {data['train']:,} pairs" if data.get("train") else "trained"
    yield f"{count} {trained}, {budget(report)}, and tested on {done[0]['quality']['n']:,} pairs."
    yield sizes(report)
    read = encoders({one["arch"]: one["settings"] for one in plain(report)})
    yield f"{read}." if read else ""
    if not several_seeds(report):
        yield "Each was trained once: how far another seed would come is not measured."


def budget(report: Json) -> str:
    """`each for 70 seconds`; training may end earlier, when it gets no better."""
    value, kind = report["budget"]["value"], report["budget"]["kind"]
    if kind == "flops":
        return f"each for at most {value:.3g} FLOPs"
    spent, unit = {"time": ("train_s", "seconds"), "steps": ("steps", "steps")}[kind]
    whole = all(one[spent] >= value for one in report["entries"] if one["quality"])
    return f"each for {'' if whole else 'at most '}{value:,.0f} {unit}"


def allowance(budget: Json) -> str:
    """What each entry may spend: `1,800 updates`, `600 seconds` or `1e+15 FLOPs`."""
    value, kind = budget["value"], budget["kind"]
    if kind == "flops":
        return f"{value:.3g} FLOPs"
    return f"{value:,.0f} {'seconds' if kind == 'time' else 'updates'}"


def encoders(settings: Mapping[Arch, Flat]) -> str:
    """In which directions the recurrent ones read the source; "" where fewer than two are compared.

    `settings` has those of each architecture. Reports of earlier versions may lack the one that says it.
    """
    both = {arch: one.get("model.bidirectional") for arch, one in settings.items() if arch != "transformer"}
    ways: dict[Any, str] = {True: "in both directions", False: "in one direction"}
    if len(both) < 2 or not set(both.values()) <= ways.keys():
        return ""
    if len(set(both.values())) == 1:
        return (
            f"{joined(list(both))} read the source {ways[next(iter(both.values()))]}, with the same encoder"
        )
    each = joined([f"{arch} reads the source {ways[way]}" for arch, way in both.items()])
    return f"{each}, so the encoder is part of their difference"


def sizes(report: Json) -> str:
    """Whether the generations have the same number of parameters."""
    counts = {one["arch"]: one["parameters"] for one in plain(report) if one.get("parameters")}
    if len(counts) < 2:
        return ""
    small, large = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
    spread = counts[large] / counts[small] - 1
    if spread <= 0.05:
        return f"Their parameter counts lie within {100 * spread:.1f} % of each other."
    return (
        f"Their parameter counts differ: {large} has {counts[large]:,} and {small} {counts[small]:,}, so "
        "size is part of every difference."
    )


def generations(report: Json) -> Iterator[str]:
    """Each generation against the one before it."""
    values = {one["name"]: one for one in plain(report)}
    for pair in report["pairs"]:
        if pair["before"] in values and pair["after"] in values and not several_seeds(report):
            yield difference(report, pair, values)
    if several_seeds(report):
        groups = [g for g in report["groups"] if g["group"] == PLAIN and g["mean"] is not None]
        for before, after in zip(groups, groups[1:], strict=False):
            yield over_seeds(report, before, after)


def difference(report: Json, pair: Json, values: Json) -> str:
    """Two entries that were tested on the same resamples."""
    after, before = pair["after"], pair["before"]
    scores = " against ".join(number(values[name]["quality"]["value"]) for name in (after, before))
    figures = f"{measure_of(report)} {scores}, p = {pair['p']:.3f}"
    if pair["p"] >= CHANCE:
        return f"{after} and {before} do not differ beyond chance: {figures}."
    better = (pair["delta"] > 0) != report["metric"]["lower_is_better"]
    return f"{after} is {'better' if better else 'worse'} than {before}: {figures}."


def over_seeds(report: Json, before: Json, after: Json) -> str:
    """Two generations, each trained with several seeds: a claim only if every seed agrees."""
    means = f"{measure_of(report)} {number(after['mean'])} against {number(before['mean'])} on average"
    kind = by_seeds(report, before, after)
    if not kind:
        return f"The seeds of {after['name']} and {before['name']} overlap: {means}."
    word = "better" if kind > 0 else "worse"
    return f"{after['name']} is {word} than {before['name']} with every seed: {means}."


def by_seeds(report: Json, before: Json, after: Json) -> int:
    """1 if every seed of the second is better than all of the first, -1 if worse, 0 if they overlap."""
    sign = -1 if report["metric"]["lower_is_better"] else 1
    return sign * int((after["min"] > before["max"]) - (after["max"] < before["min"]))


def lengths(report: Json) -> Iterator[str]:
    """Who falls with the length of the source, and who does not; with several seeds all have to agree."""
    slopes: dict[str, list[Json]] = {}
    archs = {one["name"]: one["arch"] for one in report["entries"] if one["group"] == PLAIN}
    for slope in report["slopes"]:
        if slope["entry"] in archs and slope["ci95"]:
            slopes.setdefault(archs[slope["entry"]], []).append(slope)
    if not slopes:
        return
    said: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for arch, found in slopes.items():
        falls = {slope["falls"] for slope in found}
        said[falls.pop() if len(falls) == 1 else None].append(arch)
    first = next(iter(slopes.values()))[0]
    ranges = f"{range_of(first['short'])} to {range_of(first['long'])} {unit_of(report, first['entry'])}"
    ends = {
        arch: ", ".join(f"{bounds(slope['short'])} to {bounds(slope['long'])}" for slope in found)
        for arch, found in slopes.items()
    }  # of each seed `35.4 [30.1, 41.3] to 0.0 [0.0, 1.1]`
    figures = "; ".join(f"{arch} {both}" for arch, both in ends.items())
    yield f"{verdicts(said)}. From sources of {ranges}, {measure_of(report)}: {figures}."


def verdicts(said: Mapping[bool | None, Sequence[str]]) -> str:
    """`rnn falls with length, luong and transformer show no fall`; what neither is shown for is open."""
    falls, holds, open_ = said[True], said[False], said[None]
    parts = [f"{joined(falls)} fall{'s' * (len(falls) == 1)} with length"] if falls else []
    if holds:
        more = "" if falls else " with length"
        parts.append(f"{joined(holds)} show{'s' * (len(holds) == 1)} no fall{more}")
    if open_:
        parts.append(f"for {joined(open_)} it is open" + ("" if parts else " whether it falls with length"))
    text = ", ".join(parts)
    return f"F{text[1:]}" if text.startswith("for ") else text


def beyond(report: Json) -> Iterator[str]:
    """What happens past the lengths seen in training."""
    holds, breaks = list[str](), list[str]()
    for one in report["entries"]:
        bins = one["quality"]["by_length"]["bins"] if one["quality"] else []
        seen = [part for part in bins if not part["beyond"] and not part["thin"] and part["ci95"]]
        unseen = [part for part in bins if part["beyond"] and not part["thin"] and part["ci95"]]
        if not seen or not unseen or hopeless(seen[-1], lower=report["metric"]["lower_is_better"]):
            continue
        last, first, unit = seen[-1], unseen[0], unit_of(report, one["name"])
        where = f"over {one['quality']['by_length']['trained_to']} {unit}"
        words = f"{one['name']} {bounds(first)} {where}, {bounds(last)} just below"
        (low, high), (low2, high2) = last["ci95"], first["ci95"]
        if low <= high2 and low2 <= high:
            holds.append(words)
        elif (first["value"] < last["value"]) != report["metric"]["lower_is_better"]:
            breaks.append(words)
    label = measure_of(report)
    if breaks:
        yield f"Worse past the lengths of training, in {label}: {'; '.join(breaks)}."
    if holds:
        where, metric = ("them", "") if breaks else ("the lengths of training", f", in {label}")
        yield f"No worse past {where}, as far as the intervals tell{metric}: {'; '.join(holds)}."


def ablations(report: Json) -> Iterator[str]:
    """What each change alone does: one sentence for all that got worse, better, or neither."""
    found: dict[str, list[str]] = {"Worse": [], "Better": [], "No difference beyond chance": []}
    worse, better, neither = found.values()
    for before, after, changes in changed_groups(report):
        means = (
            f"{after['name']} {number(after['mean'])} against {number(before['mean'])} of {before['name']}"
        )
        kind, figures = outcome(report, before, after)
        item = f"{means} ({', '.join(filter(None, (changes, figures)))})"
        item = item if kind else f"{after['name']} against {before['name']} ({figures})"
        (neither if kind == 0 else better if kind > 0 else worse).append(item)
    for words, items in found.items():
        if items:
            yield f"{words}, in {measure_of(report)}: {'; '.join(items)}."


def changed_groups(report: Json) -> Iterator[tuple[Json, Json, str]]:
    """Each ablation with what it is compared to, seeds taken together, and the settings that differ."""
    entries = {one["name"]: one for one in report["entries"]}
    home = {name: group for group in report["groups"] for name in group["entries"]}
    for group in report["groups"]:
        entry = entries[group["entries"][0]]
        base = base_of(entry, report["entries"]) if entry["group"] != PLAIN else None
        if base and group["mean"] is not None and home[base["name"]]["mean"] is not None:
            own = {key: value for key, value in entry["changes"].items() if key not in base["changes"]}
            said = ", ".join(f"{key}={plain_word(value)}" for key, value in own.items())
            yield home[base["name"]], group, said


def outcome(report: Json, before: Json, after: Json) -> tuple[int, str]:
    """1 better, -1 worse, 0 neither, and why: the paired test, or all seeds on one side of the other's."""
    sign = -1 if report["metric"]["lower_is_better"] else 1
    if len(after["seeds"]) > 1:
        kind = by_seeds(report, before, after)
        return kind, "every seed" if kind else "the seeds overlap"
    names = set(before["entries"]), set(after["entries"])
    pair = next((p for p in report["pairs"] if p["before"] in names[0] and p["after"] in names[1]), None)
    if pair is None:
        return 0, "not tested"
    kind = 0 if pair["p"] >= CHANCE else sign * (1 if pair["delta"] > 0 else -1)
    return kind, f"p = {pair['p']:.3f}"


def speeds(report: Json) -> Iterator[str]:
    """Who is fastest in training and in decoding."""
    said, known = [], [one for one in plain(report) if one["speed"]]
    rates = ("trains", "train_tokens_per_s", "tokens/s"), ("decodes", "sentences_per_s", "sentences/s")
    for verb, key, unit in rates:
        found = {one["arch"]: one["speed"][key] for one in known if one["speed"][key]}
        if len(found) > 1:
            fast, slow = max(found, key=found.__getitem__), min(found, key=found.__getitem__)
            if found[fast] >= MOOD * found[slow]:
                rates_of = f"{found[fast]:,.0f} {unit}, and {slow} slowest, {found[slow]:,.0f}"
                said.append(f"{fast} {verb} fastest, {rates_of}")
    if said:
        yield f"{'; '.join(said)}."


def growths(report: Json) -> Iterator[str]:
    """How the cost of a pass grows with length, by formula and as measured, at lengths that all have."""
    found = {one["arch"]: one["growth"] for one in plain(report) if one["growth"]}
    shared = sorted(set.intersection(*(set(one["lengths"]) for one in found.values()))) if found else []
    if len(found) < 2 or len(shared) < 2:
        return
    factors = {}  # by how much each cost multiplies between the two longest
    for arch, growth in found.items():
        short, long = map(growth["lengths"].index, shared[-2:])
        factors[arch] = [float(growth[name][long] / growth[name][short]) for name in ("flops", "ms", "bytes")]
    steep, flat = (pick(factors, key=lambda arch: factors[arch][0]) for pick in (max, min))
    if factors[steep][0] - factors[flat][0] < STEEPER:
        return
    (flops, ms, size), (flops2, ms2, size2) = factors[steep], factors[flat]
    yield (
        f"From {shared[-2]} to {shared[-1]} tokens a pass of {steep} takes {flops:.1f} times the FLOPs, "
        f"{ms:.1f} times the time and {size:.1f} times the memory; of {flat} {flops2:.1f}, {ms2:.1f} and "
        f"{size2:.1f} times."
    )


def attentions(report: Json) -> Iterator[str]:
    """How sharp each model's look at the source is."""
    crosses = {
        one["arch"]: one["attention"]["kinds"]["cross"]
        for one in plain(report)
        if one["attention"] and "cross" in one["attention"]["kinds"]
    }
    if crosses:
        parts = (
            f"{cross['sharpness']:.2f} in {arch} ({cross['entropy_bits']:.1f} of "
            f"{cross['max_entropy_bits']:.1f} possible bits of entropy)"
            for arch, cross in crosses.items()
        )
        yield f"The largest weight of a step's attention to the source is, on average, {joined(list(parts))}."


def influences(report: Json) -> Iterator[str]:
    """How much of a token's influence comes from near places, where that is more than an even share."""
    parts = []
    for one in plain(report):
        found = one["influence"]
        if found and found.get("even"):
            near = [i for i, distance in enumerate(found["distance"]) if distance < 0.2]
            share, even = (sum(found[key][i] for i in near) for key in ("share", "even"))
            if share >= NEARER * even:
                parts.append(f"{100 * share:.0f} % in {one['arch']} (evenly {100 * even:.0f} %)")
    if parts:
        yield (
            "Of the influence on a token this much comes from near places, within a fifth of the length: "
            f"{joined(parts)}."
        )


def failures(report: Json) -> Iterator[str]:
    """What has no figures, and why."""
    for one in report["entries"]:
        if one["status"] == "failed":
            message = one["error"]["message"] if one["error"] else "no reason is known"
            yield f"{one['name']} failed: {message.rstrip('.')}."
        elif not one["quality"]:
            yield f"{one['name']} was stopped before it was tested."


SENTENCES: tuple[Callable[[Json], Iterator[str]], ...] = (
    lengths,
    generations,
    failures,
    beyond,
    ablations,
    speeds,
    growths,
    attentions,
    influences,
    setting,
)


def plain(report: Json) -> list[Json]:
    """The plain entries that were measured, one of each architecture: that of the first seed."""
    found: dict[str, Json] = {}
    for one in report["entries"]:
        if one["group"] == PLAIN and one["quality"]:
            found.setdefault(one["arch"], one)
    return list(found.values())


def measure_of(report: Json) -> str:
    """The metric's name within a sentence."""
    label: str = report["metric"]["label"]
    return "exact match" if label == "exact" else label


def several_seeds(report: Json) -> bool:
    return any(len(group["seeds"]) > 1 for group in report["groups"])


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def bounds(part: Json) -> str:
    """`86.1 [83.2, 89.0]`."""
    low, high = part["ci95"]
    return f"{number(part['value'])} [{number(low)}, {number(high)}]"


def range_of(part: Json) -> str:
    return f"{part['lo']}" if part["lo"] == part["hi"] else f"{part['lo']}–{part['hi']}"


def unit_of(report: Json, name: str) -> str:
    """`words` or `characters`."""
    entry = next(one for one in report["entries"] if one["name"] == name)
    return str(entry["quality"]["by_length"]["unit"]).removeprefix("source_")


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
