"""How a model goes on after one wrong token: does it recover, or do errors pile up?

    python benchmarks/free_running.py --out benchmarks/free_running.json

For each of the bundled models: tokens that are right after a right beginning (teacher forcing) and after its
own (free running), over the first dates of the test set. Then, of the dates that it writes without a mistake
by itself, one token is replaced and the model goes on alone. `digit`: the same digit at the same place for
all models, drawn at random. `own`: at a place drawn at random, the most probable wrong token of the model
itself. An answer has recovered if all its other tokens are right. No clock is in it: a run gives the same
again on one machine.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import jumok
from jumok.data.builtin import builtin_corpus
from jumok.model import Model

DIGITS = "0123456789"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dates", type=int, default=300)
    parser.add_argument("--models", nargs="+", default=["demo/rnn", "demo/luong", "demo/transformer"])
    parser.add_argument("--smoke", action="store_true", help="three dates: does it run?")
    parser.add_argument("--out", type=Path, help="write the readings there")
    options = parser.parse_args()
    pairs = list(builtin_corpus("dates", "test").pairs())[: 3 if options.smoke else options.dates]
    found = {name.rpartition("/")[2]: measure(jumok.load(name, "cpu"), pairs) for name in options.models}
    for name, row in found.items():
        shares = " ".join(f"{key} {value:.1%}" for key, value in row.items() if key.endswith("share"))
        print(f"{name:12} {shares} more wrong {row['digit_more']:.2f} and {row['own_more']:.2f}")
    if options.out:
        text = json.dumps({"dates": len(pairs), "models": found}, indent=1)
        options.out.write_text(text + "\n", encoding="utf-8")


def measure(model: Model, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    forced: list[bool] = []
    free: list[bool] = []
    after: dict[str, list[int]] = {"digit": [], "own": []}
    exact = 0
    for number, (source, target) in enumerate(pairs):
        runs = model.free_running(source, target)
        forced += [token.best[0].id == token.id for token in runs.forced.tokens]
        free += [token.right for token in runs.free.tokens[: len(runs.forced.tokens)]]
        free += [False] * (len(runs.forced.tokens) - len(runs.free.tokens))
        if runs.free.wrong:
            continue
        exact += 1
        tokens = [token.text for token in runs.forced.tokens]
        for kind, (slip, wrong) in slips(tokens, Random(number)).items():
            slipped = model.free_running(source, target, slip=slip, wrong=wrong).slipped
            assert slipped is not None
            after[kind].append(slipped.wrong - 1)
    return {
        "forced_share": share(forced),
        "free_share": share(free),
        "exact_share": exact / len(pairs),
        **{f"{kind}_share": share([more == 0 for more in each]) for kind, each in after.items()},
        **{f"{kind}_more": sum(each) / max(1, len(each)) for kind, each in after.items()},
    }


def slips(tokens: Sequence[str], random: Random) -> dict[str, tuple[int, str | None]]:
    """A place and a wrong token there, drawn in the same way for every model; None: the model's own."""
    place = random.choice([i for i, token in enumerate(tokens) if token in DIGITS])
    digit = random.choice([one for one in DIGITS if one != tokens[place]])
    return {"digit": (place, digit), "own": (random.randrange(len(tokens) - 1), None)}


def share(of: Sequence[bool]) -> float:
    return sum(of) / max(1, len(of))


if __name__ == "__main__":
    main()
