"""`jumok neighbours`: keep states of training sentences beside a model, and find those like a text's."""

from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.console import print_json, progress_display, say
from jumok.cli.shared.options import (
    COLUMNS,
    DEVICE,
    ENGINE,
    choice,
    command,
    count,
    say_once,
    text,
)
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.explain.neighbours import NearToken, Neighbours

EXAMPLES = """
  jumok neighbours -m runs/en-de -s train.en -t train.de
  jumok neighbours -m runs/dates --data dates --pairs 1000
  jumok neighbours -m demo/transformer "5. März 2024"
"""


@command(EXAMPLES, json="One JSON object on standard output.", quiet="No progress, and no words about it.")
@click.argument("sentence", metavar="[TEXT]", required=False)
@click.option("-m", "--model", required=True, metavar="MODEL", help="Run or model folder.")
@text("-s", "--source", metavar="FILE", help="Training sources; or TSV, JSONL with both sides.")
@text("-t", "--target", metavar="FILE", help="Their translations; with TEXT, the answer itself.")
@COLUMNS
@text("--data", metavar="NAME", help="A built-in data set instead of files.")
@choice("--split", of=["train", "valid", "test"], default="train", help="Part of --data [train].")
@count("--pairs", default=300, help="Pairs to draw for the index [300].")
@click.option("--seed", type=int, default=42, metavar="N", help="Of the draw [42].")
@click.option("-k", "--count", "count_", type=int, default=3, metavar="N", help="Neighbours of a token [3].")
@DEVICE
@ENGINE
def neighbours(
    sentence: str | None,
    *,
    model: str,
    target: str,
    pairs: int,
    seed: int,
    count_: int,
    device: str | None,
    engine: str,
    as_json: bool,
    quiet: bool,
    **places: Any,
) -> None:
    """Which sentences of the training data had states like those of a text?

    First make an index, once, from sentences that the model was trained on: it keeps states of a few hundred
    of them in the model's folder, as neighbours.safetensors. Then ask with a TEXT.
    """
    from jumok.decoding.translator import load
    from jumok.explain.neighbours import make_index
    from jumok.explain.neighbours import neighbours as find

    given = places["source"] or places["data"]
    if sentence is not None and given:
        raise ConfigError("both a text and training data are given", hint="make the index first, then ask")
    if sentence is None and not given:
        raise ConfigError(
            "no text is given", hint="add TEXT; or, to make an index, -s FILE -t FILE or --data NAME"
        )
    translator = load(model, device, engine=engine, note=say_once(quiet=quiet))
    if sentence is not None:
        found = find(translator, sentence, target or None, count=count_)
        print_json(found.to_dict()) if as_json else click.echo(describe(found))
        return
    from jumok.cli.evaluate import read_test_set

    files = {**places, "targets": (target,) if target else (), "images": "", "lang": ""}
    data = read_test_set(files, need=True)
    drawn = [(one, several[0]) for one, several in zip(data.sources or [], data.references, strict=True)]
    with progress_display(quiet=quiet) as progress:
        file = make_index(translator, drawn, count=pairs, seed=seed, progress=progress)
    if as_json:
        print_json({"file": str(file), "bytes": file.stat().st_size})
    elif not quiet:
        say(f"kept in {file}  {file.stat().st_size / 1000:,.0f} kB")


def describe(found: "Neighbours") -> str:
    """Each token, and where training had something like it."""
    pairs = {pair.n: pair for pair in found.pairs}
    lines = [f"{found.source}  →  {found.target}"]

    def rows(tokens: "tuple[NearToken, ...]", side: str) -> None:
        for token in tokens:
            for n, near in enumerate(token.near):
                pair = pairs[near.pair]
                seen = getattr(pair, side)[near.place].strip()
                name = token.text if n == 0 else ""
                lines.append(
                    f"  {name:<12} {near.similarity:.3f}  {seen:<12} {pair.source}  →  {pair.target}"
                )

    lines.append("read")
    rows(found.encoder.tokens, "encoder")
    lines.append("written")
    rows(found.decoder.tokens, "decoder")
    return "\n".join(lines)
