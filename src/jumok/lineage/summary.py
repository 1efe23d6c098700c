"""A comparison in plain sentences. Each is written from figures of the report, or not at all.

A sentence's function takes the report (schema compare/1) and returns "" where the figures do not carry the
claim: intervals that overlap, a difference that chance explains, times that differ by less than a machine's
moods.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jumok.lineage.entry import LINEAGE

Report = Mapping[str, Any]
CHANCE = 0.05
MOOD = 1.25  # times that differ by less say nothing
STEEPER = 0.1  # by which exponents of growth must differ
NEARER = 1.25  # over an even share


def summarise(report: Report) -> list[str]:
    """All sentences that the figures carry, the most important first."""
    return [sentence for write in SENTENCES for sentence in write(report) if sentence]


def setting(report: Report) -> Iterator[str]:
    """What was compared, and on equal terms or not."""
    data, entries = report["data"], report["entries"]
    done = [one for one in entries if one["quality"]]
    if not done:
        yield "No model was trained and tested to its end."
        return
    count = "One model was" if len(done) == 1 else f"{len(done)} models were"
    trained = f"trained on {data['train']:,} pairs" if data.get("train") else "trained"
    yield f"{count} {trained}, {budget(report)}, and tested on {done[0]['quality']['n']:,} pairs."
    yield sizes(report)


def budget(report: Report) -> str:
    """`each for 70 seconds`; training may end earlier, when it gets no better."""
    value, done = report["budget"]["value"], [one for one in report["entries"] if one["quality"]]
    match report["budget"]["kind"]:
        case "time":
            most = "" if all(one["train_s"] >= value for one in done) else "at most "
            return f"each for {most}{value:,.0f} seconds"
        case "steps":
            most = "" if all(one["steps"] >= value for one in done) else "at most "
            return f"each for {most}{value:,.0f} steps"
        case _:
            return f"each for at most {value:.3g} FLOPs"


def sizes(report: Report) -> str:
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


def seeds(report: Report) -> Iterator[str]:
    """How often each was trained."""
    most = max((len(group["seeds"]) for group in report["groups"]), default=0)
    if most == 1:
        yield "Each was trained once: how far another seed would come is not measured."


def generations(report: Report) -> Iterator[str]:
    """Each generation against the one before it."""
    values = {one["name"]: one for one in plain(report)}
    for pair in report["pairs"]:
        if pair["before"] in values and pair["after"] in values and not several_seeds(report):
            yield difference(report, pair, values)
    if several_seeds(report):
        groups = [g for g in report["groups"] if g["group"] == LINEAGE and g["mean"] is not None]
        for before, after in zip(groups, groups[1:], strict=False):
            yield over_seeds(report, before, after)


def difference(report: Report, pair: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Two entries that were tested on the same resamples."""
    label, after, before = measure_of(report), pair["after"], pair["before"]
    scores = f"{number(quality(values[after]))} against {number(quality(values[before]))}"
    if pair["p"] >= CHANCE:
        return (
            f"Between {after} and {before} there is no difference that chance could not make: "
            f"{label} {scores}, p = {pair['p']:.3f}."
        )
    better = (pair["delta"] > 0) != report["metric"]["lower_is_better"]
    return (
        f"{after} is {'better' if better else 'worse'} than {before}: {label} {scores}, p = {pair['p']:.3f}."
    )


def over_seeds(report: Report, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Two generations, each trained with several seeds: a claim only if every seed agrees."""
    label = measure_of(report)
    means = f"{label} {number(after['mean'])} against {number(before['mean'])} on average"
    names, lower = f"{after['name']} is", report["metric"]["lower_is_better"]
    above, below = after["min"] > before["max"], after["max"] < before["min"]
    if not above and not below:
        return f"The seeds of {after['name']} and {before['name']} overlap: {means}."
    word = "better" if above != lower else "worse"
    return f"{names} {word} than {before['name']} with every seed: {means}."


def lengths(report: Report) -> Iterator[str]:
    """Who falls with the length of the source, and who does not."""
    names = {one["name"] for one in plain(report)}
    for slope in report["slopes"]:
        if slope["entry"] in names and slope["falls"] is not None:
            yield length(report, slope)
    yield losses(report, [slope for slope in report["slopes"] if slope["entry"] in names])


def losses(report: Report, slopes: Sequence[Mapping[str, Any]]) -> str:
    """What each loses from the shortest sources to the longest, beside the others."""
    sign = 1 if report["metric"]["lower_is_better"] else -1
    if len(slopes) < 2 or not any(slope["falls"] for slope in slopes):
        return ""
    lost = (f"{slope['entry']} {round(sign * slope['change'], 1) + 0:.1f}" for slope in slopes)
    return f"Lost in {measure_of(report)} from the shortest sources to the longest: {', '.join(lost)}."


def length(report: Report, slope: Mapping[str, Any]) -> str:
    """One entry's shortest against its longest sources."""
    short, long = slope["short"], slope["long"]
    unit = unit_of(report, slope["entry"])
    figures = (
        f"{measure_of(report)} is {bounds(short)} for sources of {range_of(short)} {unit} and "
        f"{bounds(long)} for {range_of(long)}"
    )
    if slope["falls"]:
        return f"{slope['entry']} falls with length: {figures}; the intervals do not overlap."
    better = (slope["change"] > 0) != report["metric"]["lower_is_better"]
    if better and not overlap(short["ci95"], long["ci95"]):
        return f"{slope['entry']} does not fall with length, it is better at long sources: {figures}."
    return f"{slope['entry']} shows no fall with length: {figures}; the intervals overlap."


def beyond(report: Report) -> Iterator[str]:
    """What happens past the lengths seen in training."""
    for one in report["entries"]:
        bins = one["quality"]["by_length"]["bins"] if one["quality"] else []
        seen = [part for part in bins if not part["beyond"] and not part["thin"] and part["ci95"]]
        unseen = [part for part in bins if part["beyond"] and not part["thin"] and part["ci95"]]
        if not seen or not unseen:
            continue
        last, first, unit = seen[-1], unseen[0], unit_of(report, one["name"])
        label = measure_of(report)
        where = f"{label} {bounds(first)} past the {one['quality']['by_length']['trained_to']} {unit} seen in"
        words = f"{where} training, {bounds(last)} just below"
        if overlap(last["ci95"], first["ci95"]):
            yield f"{one['name']} holds past its training lengths as far as the intervals tell: {words}."
        elif (first["value"] < last["value"]) != report["metric"]["lower_is_better"]:
            yield f"{one['name']} breaks past its training lengths: {words}."


def ablations(report: Report) -> Iterator[str]:
    """What each change alone does."""
    values = {one["name"]: one for one in report["entries"]}
    for pair in report["pairs"]:
        entry = values[pair["after"]]
        if entry["group"] != LINEAGE:
            changed = ", ".join(f"{key}={plain_value(value)}" for key, value in entry["changes"].items())
            sentence = difference(report, pair, values)
            yield f"{sentence[:-1]} ({changed})." if changed else sentence


def speeds(report: Report) -> Iterator[str]:
    """Who is fastest in training and in decoding."""
    rates = {
        "trains": ("train_tokens_per_s", "tokens/s"),
        "decodes": ("sentences_per_s", "sentences/s"),
    }
    for verb, (key, unit) in rates.items():
        found = {
            one["name"]: one["speed"][key] for one in plain(report) if one["speed"] and one["speed"][key]
        }
        if len(found) > 1:
            fast, slow = max(found, key=found.__getitem__), min(found, key=found.__getitem__)
            if found[fast] >= MOOD * found[slow]:
                yield (
                    f"{fast} {verb} fastest, {found[fast]:,.0f} {unit}, and {slow} slowest, "
                    f"{found[slow]:,.0f} {unit}."
                )


def growths(report: Report) -> Iterator[str]:
    """How the cost of a pass grows with length, by formula and as measured."""
    found = {one["arch"]: one["growth"] for one in plain(report) if one["growth"]}
    if len(found) < 2:
        return
    flops = {arch: last_factor(growth["flops"]) for arch, growth in found.items()}
    steep, flat = max(flops, key=flops.__getitem__), min(flops, key=flops.__getitem__)
    if flops[steep] - flops[flat] < STEEPER:
        return
    lengths = found[steep]["lengths"][-2:]
    parts = (
        f"{arch} by {flops[arch]:.1f} in FLOPs, {last_factor(found[arch]['ms']):.1f} in time and "
        f"{last_factor(found[arch]['bytes']):.1f} in memory"
        for arch in (steep, flat)
    )
    yield f"From {lengths[0]} to {lengths[1]} pieces a pass grows, {'; '.join(parts)}."


def last_factor(values: Sequence[float]) -> float:
    """By how much the last step multiplies."""
    return values[-1] / values[-2]


def attentions(report: Report) -> Iterator[str]:
    """How sharp each model's look at the source is."""
    for one in plain(report):
        kinds = one["attention"]["kinds"] if one["attention"] else {}
        if cross := kinds.get("cross"):
            yield (
                f"Over the source {one['name']} spreads a step's attention by {cross['entropy_bits']:.1f} of "
                f"{cross['max_entropy_bits']:.1f} possible bits; its largest weight is "
                f"{cross['sharpness']:.2f} on average."
            )


def influences(report: Report) -> Iterator[str]:
    """How much of a token's influence comes from near places, where that is more than an even share."""
    for one in plain(report):
        found = one["influence"]
        if found and found.get("even"):
            near = [i for i, distance in enumerate(found["distance"]) if distance < 0.2]
            share, even = (sum(found[key][i] for i in near) for key in ("share", "even"))
            if share >= NEARER * even:
                yield (
                    f"In {one['name']} {100 * share:.0f} % of a token's influence comes from near places "
                    f"(within a fifth of the length); evenly it would be {100 * even:.0f} %."
                )


def failures(report: Report) -> Iterator[str]:
    """What has no figures, and why."""
    for one in report["entries"]:
        if one["status"] == "failed":
            message = one["error"]["message"] if one["error"] else "no reason is known"
            yield f"{one['name']} failed: {message.rstrip('.')}."
        elif not one["quality"]:
            yield f"{one['name']} was stopped before it was tested."


SENTENCES: tuple[Callable[[Report], Iterator[str]], ...] = (
    setting,
    generations,
    lengths,
    beyond,
    ablations,
    speeds,
    growths,
    attentions,
    influences,
    seeds,
    failures,
)


def plain(report: Report) -> list[Mapping[str, Any]]:
    """The entries of the lineage that were measured, one of each architecture: that of the first seed."""
    found: dict[str, Mapping[str, Any]] = {}
    for one in report["entries"]:
        if one["group"] == LINEAGE and one["quality"]:
            found.setdefault(one["arch"], one)
    return list(found.values())


def measure_of(report: Report) -> str:
    """The metric's name within a sentence."""
    label: str = report["metric"]["label"]
    return "exact match" if label == "exact" else label


def several_seeds(report: Report) -> bool:
    return any(len(group["seeds"]) > 1 for group in report["groups"])


def quality(entry: Mapping[str, Any]) -> float | None:
    value: float | None = entry["quality"]["value"]
    return value


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def bounds(part: Mapping[str, Any]) -> str:
    """`86.1 [83.2, 89.0]`."""
    low, high = part["ci95"]
    return f"{number(part['value'])} [{number(low)}, {number(high)}]"


def range_of(part: Mapping[str, Any]) -> str:
    return f"{part['lo']}" if part["lo"] == part["hi"] else f"{part['lo']}–{part['hi']}"


def overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def unit_of(report: Report, name: str) -> str:
    """`words` or `characters`."""
    entry = next(one for one in report["entries"] if one["name"] == name)
    return str(entry["quality"]["by_length"]["unit"]).removeprefix("source_")


def plain_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
