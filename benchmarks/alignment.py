"""How well heads align, and what alignment costs: AER beside IBM models, and time with and without.

    python -m benchmarks.alignment RUN [RUN ...] --source TEST.de --target TEST.en --other OTHER.de OTHER.en

There is no gold made by hand here. The silver standard is an IBM model in both directions that has learned
from other text than the heads' teacher (`--other`, and the test pairs themselves): what both directions say
is sure, what grow-diag adds to it is possible (Och and Ney 2003):

    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)

References go through the model, so that all heads are judged on the same links. Time is that of the
processor, which neighbours on the machine disturb least. Writes benchmarks/alignment.json.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from jumok.architectures import AlignHead
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.model import LoadedModel
from jumok.data.aligner import PARTNERS, TENSION, learn_aligner
from jumok.data.corpus import read_lines
from jumok.data.store import open_store
from jumok.decoding.batched import lay_sources, lay_targets
from jumok.decoding.heads import head_of
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.weights import pack_weights
from jumok.text.lexicon import PartnerTable, blocks, learn_partners, nearness
from jumok.text.normalize import tidy
from jumok.text.ragged import Ragged, ragged
from jumok.training.best_head import best_head

Links = set[tuple[int, int]]
IdPair = tuple[list[int], list[int]]
LONGEST = 80  # tokens of a sentence that is judged
OUT = Path(__file__).with_name("alignment.json")


def best_of(table: PartnerTable, source: Ragged, target: Ragged) -> list[list[int]]:
    """For each target token of each pair its likeliest source token; -1: nothing is likelier."""
    found: list[list[int]] = []
    place = 0
    for end, places in blocks(source, target, table.size):
        known = table.likely[table.table.find(places.keys)] * nearness(places, TENSION)
        best = [
            int(np.argmax(known[a : a + n])) if known[a : a + n].max() > table.nothing[t] else -1
            for a, n, t in zip(places.begin, places.lengths, places.targets, strict=True)
        ]
        for one in target.lengths()[place:end].tolist():
            found.append(best[:one])
            best = best[one:]
        place = end
    return found


def grown(sure: Links, either: Links) -> Links:
    """grow-diag: neighbours of links that are there, if one direction has them and a side is still free."""
    links, news = set(sure), True
    while news:
        news = False
        for i, j in sorted(either - links):
            near = any((i + a, j + b) in links for a in (-1, 0, 1) for b in (-1, 0, 1))
            free = all(i != s for s, _ in links) or all(j != t for _, t in links)
            if near and free:
                links.add((i, j))
                news = True
    return links


def silver(pairs: Sequence[tuple[list[int], list[int]]], judged: int, size: int) -> list[tuple[Links, Links]]:
    """Sure and possible links of the last `judged` pairs, by what all of them teach."""
    source, target = (ragged([pair[side] for pair in pairs]) for side in (0, 1))
    there = learn_partners(source, target, (size, size), PARTNERS, tension=TENSION)
    back = learn_partners(target, source, (size, size), PARTNERS, tension=TENSION)
    last = np.arange(len(pairs) - judged, len(pairs))
    left, right = source.take(last), target.take(last)
    found = []
    for one, other in zip(best_of(there, left, right), best_of(back, right, left), strict=True):
        forth = {(i, j) for j, i in enumerate(one) if i >= 0}
        returned = {(i, j) for i, j in enumerate(other) if j >= 0}
        sure = forth & returned
        found.append((sure, grown(sure, forth | returned)))
    return found


def error_rate(links: Sequence[Links], gold: Sequence[tuple[Links, Links]]) -> float:
    hits = sum(len(a & s) + len(a & p) for a, (s, p) in zip(links, gold, strict=True))
    return 1 - hits / sum(len(a) + len(s) for a, (s, _) in zip(links, gold, strict=True))


@torch.inference_mode()
def weights_of(model: Any, pairs: Sequence[tuple[list[int], list[int]]]) -> Iterator[np.ndarray]:
    """Of each pair the weights (L, H, T + 1, S) of a teacher-forced pass, the end of the source left out."""
    for source, target in pairs:
        target_in, _ = lay_targets([[*target, 2]], torch.device("cpu"))
        maps = model.explain(target_in, model.encode(lay_sources([source], torch.device("cpu"))))
        yield torch.stack(maps)[:, 0, :, :, : len(source)].numpy()


def linked(weights: np.ndarray, head: AlignHead | None) -> Links:
    """Each target token with the source token of the largest weight; None: the mean of all layers."""
    if head is None:
        table = weights.mean((0, 1))
    else:
        table = weights[head.layer].mean(0) if head.head is None else weights[head.layer, head.head]
    rows = table[1:] if head is not None and head.after else table[:-1]
    return {(int(i), j) for j, i in enumerate(rows.argmax(1))}


def rates(
    run: Path, pairs: list[tuple[list[int], list[int]]], gold: list[tuple[Links, Links]]
) -> dict[str, Any]:
    """The AER of each way to align with one model."""
    loaded = load_model(run)
    model, layers = loaded.model.eval(), loaded.config.model.attention["cross"][0]
    ways = {"all_layers": None, "last_layer": AlignHead(layers - 1)}
    data = run / "data"
    sizes = loaded.tokenizers.source.size, loaded.tokenizers.target.size
    small = learn_aligner(open_store(data / "train"), sizes, sample=5000)
    if found := best_head(model, open_store(data / "valid"), small):
        ways["found"] = found.head
    if loaded.config.training.align:
        ways["taught"] = head_of(loaded.config, {})
    tables = list(weights_of(model, pairs))
    made: dict[str, Any] = {
        "run": run.name,
        "step": loaded.info.get("step"),
        "bleu": loaded.info.get("score"),
    }
    made["found"] = None if found is None else found.to_dict()
    made["aer"] = {
        name: round(error_rate([linked(table, head) for table in tables], gold), 4)
        for name, head in ways.items()
    }
    return made


def costs(loaded: LoadedModel, sources: list[list[int]], turns: int) -> list[dict[str, Any]]:
    """Seconds of the processor with and without alignment, in turns."""
    made = []
    config, state = loaded.config.model, loaded.model.state_dict()
    arrays = {name: tensor.numpy() for name, tensor in state.items()}
    head = head_of(loaded.config, loaded.info)
    for kind in ("float32", "int8"):
        parts = pack_weights(config, arrays, shared=loaded.tokenizers.shared, type=kind)  # type: ignore[arg-type]
        model = NativeModel(config, parts)
        for beam in (1, 5):
            for batch in (1, 32):
                some = sources[: 8 * batch if batch == 1 else 64]
                ratios = []
                for _ in range(turns):
                    seconds = [spent(model, some, batch, beam, asked) for asked in (None, head)]
                    ratios.append(seconds[1] / seconds[0])
                row = {
                    "type": kind,
                    "beam": beam,
                    "batch": batch,
                    "ratio": round(statistics.median(ratios), 3),
                }
                made.append(row)
    return made


def spent(
    model: NativeModel, sources: list[list[int]], batch: int, beam: int, head: AlignHead | None
) -> float:
    began = time.process_time()
    for first in range(0, len(sources), batch):
        some = sources[first : first + batch]
        limits = [2 * len(source) + 10 for source in some]
        model.search(some, limits, SearchOptions(beam=beam, align=head), threads=1)
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--other", nargs=2, required=True)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--others", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    loaded = load_model(given.runs[0])
    both, size = loaded.tokenizers, loaded.tokenizers.target.size

    def encoded(source: str, target: str, most: int) -> list[tuple[list[int], list[int]]]:
        sides = [[tidy(line) for line in read_lines(name)] for name in (source, target)]
        ids = both.text_source.encode_many(sides[0]), both.target.encode_many(sides[1])
        fits = [(s, t) for s, t in zip(*ids, strict=True) if s and t and max(len(s), len(t)) <= LONGEST]
        return fits[:most]

    pairs = encoded(given.source, given.target, given.pairs)
    gold = silver(
        [
            *encoded(*given.other, given.others),
            *encoded(given.source, given.target, 10**9)[given.pairs :],
            *pairs,
        ],
        len(pairs),
        size,
    )
    found = {
        "pairs": len(pairs),
        "sure": sum(len(sure) for sure, _ in gold),
        "possible": sum(len(possible) for _, possible in gold),
        "models": [rates(run, pairs, gold) for run in given.runs],
        "time": costs(load_model(given.runs[-1]), [s for s, _ in pairs], given.turns),
    }
    OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
