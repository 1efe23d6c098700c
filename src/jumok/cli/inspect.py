"""`jumok inspect`: what is in a model, what it costs, and what it looks at."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.console import say
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.cli.views.heat import Which
    from jumok.cli.views.look import Asked
    from jumok.cli.views.view import View
    from jumok.explain.trace import Trace

EXAMPLES = """\b
Examples:
  jumok inspect -m runs/en-de
  jumok inspect -m runs/en-de --text "A man is riding a horse." --words
  jumok inspect -m runs/en-de --text "A man is riding a horse." --view steps --q 2 --k 3
  jumok inspect -m runs/en-de --text "A man." --what-if "mask_head kind=cross layer=1 head=1"
  jumok inspect -m runs/en-de --text "A man is riding a horse." -o horse.html
  jumok inspect -m runs/en-de --cost --lengths 10,100,1000
"""

LENGTHS = "10,50,100,500,1000"
SUBJECTS = ("text", "trace", "shapes", "cost")
NEEDS = {
    "model": ("text", "shapes", "cost"),
    "target": ("text", "shapes"),
    "lengths": ("cost",),
    "beam": ("text",),
    "what_if": ("text",),
    **dict.fromkeys(
        ("view", "kind", "layer", "head", "q", "k", "words", "style", "output"), ("text", "trace")
    ),
}
"""Options and the subjects they go with."""
VIEWS = {
    "kind": ("heat", "steps"),
    "layer": ("heat", "steps"),
    "head": ("heat", "steps"),
    "words": ("heat",),
    "q": ("steps",),
    "k": ("steps",),
}
"""Options and the views they go with."""


@click.command(epilog=EXAMPLES)
@click.option("-m", "--model", metavar="MODEL", type=click.Path(path_type=Path), help="Model or run folder.")
@click.option("--text", metavar="TEXT", help="Show what the model does while it translates this.")
@click.option("--target", metavar="TEXT", help="Take this text instead of the model's own translation.")
@click.option("--beam", type=click.IntRange(min=1), metavar="N", help="Hypotheses of the search.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A saved .trace, instead of -m and --text.",
)
@click.option(
    "--view",
    type=click.Choice(["heat", "steps", "beam", "influence"]),
    default="heat",
    help="Attention as a heat map, one head step by step, the search, what each word did [heat].",
)
@click.option(
    "--kind",
    type=click.Choice(["cross", "enc_self", "dec_self", "copy"]),
    default="cross",
    help="From decoder to source, inside the encoder, inside the decoder, what is copied [cross].",
)
@click.option("--layer", default="last", metavar="N", help="A layer from 1, last, or mean [last].")
@click.option("--head", metavar="N", help="A head from 1, or mean [mean; steps: 1].")
@click.option("--q", type=click.IntRange(min=1), metavar="N", help="Steps of this query: a token from 1.")
@click.option("--k", type=click.IntRange(min=1), metavar="N", help="And of this key: a token from 1.")
@click.option("--words", is_flag=True, help="Join the pieces of words.")
@click.option(
    "--style",
    type=click.Choice(["auto", "colour", "blocks", "digits"]),
    default="auto",
    help="How weights are drawn [auto: colour on a terminal, else blocks].",
)
@click.option(
    "--what-if",
    multiple=True,
    metavar="OP",
    help="Change the model and see: 'OP field=value …', counted from 1; or JSON, from 0. Repeatable.",
)
@click.option("-o", "--output", default="", metavar="FILE", help="Write .html, .json, .trace or .csv.")
@click.option("--shapes", metavar="TEXT", help="The shape of every tensor while it translates this.")
@click.option("--cost", is_flag=True, help="Parameters, FLOPs and bytes by formula, and as measured.")
@click.option("--lengths", default=LENGTHS, metavar="N,…", help=f"Sentence lengths for --cost [{LENGTHS}].")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the essential line.")
@click.help_option("-h", "--help")
@click.pass_context
def inspect(ctx: click.Context, /, *, as_json: bool, quiet: bool, **options: Any) -> None:
    """A model's card; or what it does with a text, its tensors (--shapes), its cost (--cost).

    Interventions of --what-if: mask_head, scale_head (factor), mask_edge (q, k), set_row (q, weights=3:1),
    uniform, no_scale, positions (mode, side), bridge (mode, text), force_prefix, ban, require (text),
    replace_source (unit, text). Those of heads take kind, layer and head; * means all.
    """
    subject = check_options(ctx)
    sizes = parse_lengths(options["lengths"])
    model, target = options["model"], options["target"]
    if subject in ("text", "trace"):
        show_trace(options, as_json=as_json, quiet=quiet)
        return
    if subject == "shapes":
        from jumok.cli.views.shapes import shapes_view

        view = shapes_view(model, options["shapes"], target)
    elif subject == "cost":
        from jumok.cli.views.cost import cost_view

        view = cost_view(model, sizes)
    else:
        from jumok.cli.views.card import card_view

        view = card_view(model)
    show(view, as_json=as_json, quiet=quiet)


def show(view: "View", *, as_json: bool, quiet: bool) -> None:
    if as_json:
        click.echo(json.dumps(view.plain, ensure_ascii=False, allow_nan=False))
    else:
        from jumok.cli.views.view import harmless

        text = harmless(view.line if quiet else view.text)
        click.echo(text, color=True)  # coloured only where that was decided


def show_trace(options: dict[str, Any], *, as_json: bool, quiet: bool) -> None:
    """One view of a trace, on standard output or in a file."""
    from jumok.cli.views.change import with_change
    from jumok.cli.views.files import check_file, write_file
    from jumok.cli.views.look import look
    from jumok.cli.views.view import coloured, harmless

    path, words = options["output"], options["what_if"]
    if path:
        check_file(path)
    looked = look(asked_of(options))
    for warning in looked.trace.manifest["warnings"]:
        say(harmless(f"warning: {warning['message']}"))
    view = view_of(options["view"], looked.trace, which_of(options))
    if looked.change is not None:
        view = with_change(view, looked.change, words, colour=coloured(options["style"]))
    if not path:
        show(view, as_json=as_json, quiet=quiet)
        return
    said = write_file(path, looked, view)
    if as_json:
        size = Path(path).stat().st_size
        click.echo(json.dumps({"file": path, "bytes": size, "trace": looked.trace.id}, ensure_ascii=False))
    elif not quiet:
        say(said)


def asked_of(options: dict[str, Any]) -> "Asked":
    from jumok.cli.views.look import Asked

    beam = {} if options["beam"] is None else {"beam": options["beam"]}
    return Asked(
        options["model"], options["text"] or "", options["target"], options["what_if"], beam, options["trace"]
    )


def which_of(options: dict[str, Any]) -> "Which":
    from jumok.cli.views.heat import Which

    head = options["head"] or ("1" if options["view"] == "steps" else "mean")
    names = ("kind", "layer", "style", "words", "q", "k")
    return Which(head=head, **{name: options[name] for name in names})


def view_of(name: str, trace: "Trace", which: "Which") -> "View":
    """One view of a trace by its name."""
    match name:
        case "steps":
            from jumok.cli.views.steps import steps_view

            return steps_view(trace, which)
        case "beam":
            from jumok.cli.views.beam import beam_view

            return beam_view(trace, which.style)
        case "influence":
            from jumok.cli.views.influence import influence_view

            return influence_view(trace, which.style)
        case _:
            from jumok.cli.views.heat import heat_view

            return heat_view(trace, which)


def check_options(ctx: click.Context) -> str:
    """The subject that is asked for ("" for the card); no option may be ignored."""
    given = {
        name
        for name in ctx.params
        if ctx.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
    }
    subjects = [name for name in SUBJECTS if name in given]
    if len(subjects) > 1:
        raise ConfigError(
            f"--{subjects[0]} and --{subjects[1]} cannot be shown together", hint="ask one at a time"
        )
    subject = subjects[0] if subjects else ""
    if "model" not in given and subject != "trace":
        raise ConfigError("which model?", hint="name its folder with -m, or a saved trace with --trace")
    for name, one_of in NEEDS.items():
        if name in given and subject not in one_of and not (name == "model" and not subject):
            raise ConfigError(f"{written(name)} goes with {' or '.join(map(written, one_of))}")
    for name, views in VIEWS.items():
        if name in given and ctx.params["view"] not in views:
            raise ConfigError(f"{written(name)} goes with --view {' or '.join(views)}")
    if "k" in given and "q" not in given:
        raise ConfigError("--k goes with --q", hint="a cell has a query and a key")
    if "what_if" in given and "target" in given:
        raise ConfigError(
            "--what-if and --target cannot be shown together",
            hint="a what-if asks what the model would write: leave out --target",
        )
    return subject


def written(name: str) -> str:
    """A parameter as it is written on the command line."""
    return {"output": "-o", "model": "-m"}.get(name, f"--{name.replace('_', '-')}")


def parse_lengths(text: str) -> list[int]:
    try:
        lengths = [int(word) for word in text.split(",")]
    except ValueError:
        lengths = []
    if not lengths or min(lengths) < 1:
        raise ConfigError(f"--lengths {text!r} is no list of lengths", hint=f"write it like {LENGTHS}")
    return lengths
