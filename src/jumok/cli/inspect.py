"""`jumok inspect`: what is in a model, what it costs, and what it looks at."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.console import print_json, say
from jumok.cli.shared.options import (
    LANGUAGES,
    command,
    count,
    flag,
    given_options,
    several,
    switch,
    text,
)
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.cli.views.view import View

EXAMPLES = """
  jumok inspect -m runs/en-de --text "A man is riding a horse." --words
  jumok inspect -m runs/en-de --text "A man is riding a horse." --view steps --q 2 --k 3
  jumok inspect -m runs/en-de --text "A man." --what-if "mask_head kind=cross layer=1 head=1"
  jumok inspect -m runs/en-de --text "A man is riding a horse." -o horse.html
  jumok inspect -m runs/en-de --cost --lengths 10,100,1000
  jumok inspect --shapes --config model.toml --batch 32 --source-length 10
"""

LENGTHS = "10,50,100,500,1000"
SUBJECTS = ("text", "trace", "shapes", "cost")
NEEDS = {
    "model": ("text", "shapes", "cost"),
    "target": ("text", "shapes"),
    **dict.fromkeys(("config", "batch", "source_length", "target_length"), ("shapes",)),
    "lengths": ("cost",),
    **dict.fromkeys(("to", "from_language"), ("text", "shapes")),
    "beam": ("text",),
    "what_if": ("text",),
    **dict.fromkeys(
        ("view", "kind", "layer", "head", "q", "k", "words", "style", "output"), ("text", "trace")
    ),
}
"""Options and the subjects they go with."""
VIEW_OF = {"q": "steps", "k": "steps", "words": "heat"}
"""Options and the view they go with."""
NOT_VOTED = ("trace", "beam", "kind", "layer", "head", "style", "what_if", "output")
"""Options that the view of votes has no use for."""
MOVED = {"beam": ("what the search considered", "/beam"), "influence": ("what each word did", "/translate")}
"""Views that only the page has now, and the screen where they are."""


class ViewName(click.Choice[str]):
    """A view of the terminal; one that has moved to the page says where it is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in MOVED:
            what, screen = MOVED[value]
            raise ConfigError(
                f"--view {value}: {what} is shown on the page, not in the terminal",
                hint=f"jumok serve MODEL --open {screen}, or write the page with -o FILE.html",
            )
        return super().convert(value, param, ctx)


@command(EXAMPLES, json="One JSON object on standard output.", quiet="Print only the essential line.")
@click.option("-m", "--model", metavar="MODEL", help="Model or run folder; A+B with --view votes.")
@click.option("--text", metavar="TEXT", help="Show what the model does while it translates this.")
@click.option("--target", metavar="TEXT", help="Take this text instead of the model's own translation.")
@LANGUAGES
@count("--beam", help="Hypotheses of the search.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A saved .trace, instead of -m and --text.",
)
@click.option(
    "--view",
    type=ViewName(["heat", "steps", "votes"]),
    default="heat",
    help="Attention as a heat map, one head step by step, or what each model of A+B wanted [heat].",
)
@click.option(
    "--kind",
    type=click.Choice(["cross", "enc_self", "dec_self", "copy"]),
    default="cross",
    help="From decoder to source, inside the encoder, inside the decoder, what is copied [cross].",
)
@click.option("--layer", default="last", metavar="N", help="A layer from 1, last, or mean [last].")
@click.option("--head", metavar="N", help="A head from 1, or mean [mean; steps: 1].")
@count("--q", help="Steps of this query: a token from 1.")
@count("--k", help="And of this key: a token from 1.")
@switch("--words", help="Join the tokens of words.")
@click.option(
    "--style",
    type=click.Choice(["auto", "colour", "blocks", "digits"]),
    default="auto",
    help="How weights are drawn [auto: colour on a terminal, else blocks].",
)
@several(
    "--what-if",
    metavar="OP",
    help="Change the model and see: 'OP field=value …', counted from 1; or JSON, from 0. Repeatable.",
)
@text("-o", "--output", metavar="FILE", help="Write .html, .json, .trace or .csv.")
@click.option(
    "--shapes",
    metavar="TEXT",
    is_flag=False,
    flag_value="",
    help="The shape of every tensor while it translates this; of --config without a text.",
)
@text("--config", metavar="FILE", help="Shapes of the model that this TOML file describes, untrained.")
@count("--batch", help="Sentences of --config: B [1].")
@count("--source-length", help="Source tokens of --config: S, or L in the notes [10].")
@count("--target-length", help="Target tokens of --config: T [as many].")
@switch("--cost", help="Parameters, FLOPs and bytes by formula, and as measured.")
@click.option("--lengths", default=LENGTHS, metavar="N,…", help=f"Sentence lengths for --cost [{LENGTHS}].")
@click.pass_context
def inspect(ctx: click.Context, /, *, as_json: bool, quiet: bool, **options: Any) -> None:
    """A model's card; or what it does with a text, its tensors (--shapes), its cost (--cost).

    Interventions of --what-if: mask_head, scale_head (factor), mask_edge (q, k), set_row (q, weights=3:1),
    uniform, no_scale, positions (mode, side), bridge (mode, text), force_prefix, ban, require (text),
    replace_source (unit, text). Those of heads take kind, layer and head; * means all.
    """
    subject = check_options(ctx)
    sizes, model = parse_lengths(options["lengths"]), Path(options["model"] or "")
    if options["view"] == "votes":
        from jumok.cli.views.votes import votes_view

        show(votes_view(options["model"], options["text"], options["target"]), as_json=as_json, quiet=quiet)
        return
    if subject in ("text", "trace"):
        show_trace(options, as_json=as_json, quiet=quiet)
        return
    from jumok.cli.views.model import card_view, cost_view, planned_shapes_view, shapes_view

    if subject == "shapes" and options["config"]:
        lengths = options["source_length"] or 10, options["target_length"] or options["source_length"] or 10
        view = planned_shapes_view(options["config"], options["batch"] or 1, *lengths)
    elif subject == "shapes":
        said = given_options({name: options[name] for name in ("to", "from_language")})
        view = shapes_view(model, options["shapes"], options["target"], said)
    else:
        view = cost_view(model, sizes) if subject == "cost" else card_view(model)
    show(view, as_json=as_json, quiet=quiet)


def show(view: "View", *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json(view.plain)
    else:
        from jumok.cli.views.view import harmless

        text = harmless(view.line if quiet else view.text)
        click.echo(text, color=True)  # coloured only where that was decided


def show_trace(options: dict[str, Any], *, as_json: bool, quiet: bool) -> None:
    """One view of a trace, on standard output or in a file."""
    from jumok.cli.views.attention import AttentionChoice, heat_view, steps_view
    from jumok.cli.views.trace import Inspection, check_file, inspect_text, with_change, write_file
    from jumok.cli.views.view import harmless
    from jumok.explain.trace import open_trace

    path, words, steps = options["output"], options["what_if"], options["view"] == "steps"
    if path:
        check_file(path)
    names = ("kind", "layer", "style", "words", "q", "k")
    choice = AttentionChoice(
        head=options["head"] or ("1" if steps else "mean"), **{name: options[name] for name in names}
    )
    if options["trace"] is not None:
        inspection = Inspection(open_trace(options["trace"]))
    else:
        search = given_options({name: options[name] for name in ("beam", "to", "from_language")})
        inspection = inspect_text(Path(options["model"]), options["text"], options["target"], words, **search)
    for warning in inspection.trace.manifest["warnings"]:
        say(harmless(f"warning: {warning['message']}"))
    view = (steps_view if steps else heat_view)(inspection.trace, choice)
    if inspection.change is not None:
        view = with_change(view, inspection.change, words)
    if not path:
        show(view, as_json=as_json, quiet=quiet)
        return
    said = write_file(path, inspection, view)
    if as_json:
        print_json({"file": path, "bytes": Path(path).stat().st_size, "trace": inspection.trace.id})
    elif not quiet:
        say(said)


def check_options(ctx: click.Context) -> str:
    """The subject that is asked for ("" for the card); no option may be ignored."""
    typed = click.core.ParameterSource.COMMANDLINE
    given = {name for name in ctx.params if ctx.get_parameter_source(name) == typed}
    subjects = [name for name in SUBJECTS if name in given]
    if len(subjects) > 1:
        raise ConfigError(
            f"--{subjects[0]} and --{subjects[1]} cannot be shown together", hint="ask one at a time"
        )
    subject = subjects[0] if subjects else ""
    if subject == "shapes":
        check_shapes(given, ctx.params["shapes"])
    if "model" not in given and subject != "trace" and "config" not in given:
        raise ConfigError("which model?", hint="name its folder with -m, or a saved trace with --trace")
    for name, one_of in NEEDS.items():
        if name in given and subject not in one_of and not (name == "model" and not subject):
            raise ConfigError(f"{flag(name)} goes with {' or '.join(map(flag, one_of))}")
    for name, view in VIEW_OF.items():
        if name in given and ctx.params["view"] != view:
            raise ConfigError(f"--{name} goes with --view {view}")
    if ctx.params["view"] == "votes":
        other = next((name for name in NOT_VOTED if name in given), "")
        if other or subject != "text":
            reason = f"{flag(other)} and --view votes cannot be shown together"
            hint = "votes are those for the answer to --text, or for its --target"
            raise ConfigError(reason if other else "--view votes goes with --text", hint=hint)
    if "k" in given and "q" not in given:
        raise ConfigError("--k goes with --q", hint="a cell has a query and a key")
    if "what_if" in given and "target" in given:
        raise ConfigError(
            "--what-if and --target cannot be shown together",
            hint="a what-if asks what the model would write: leave out --target",
        )
    return subject


def check_shapes(given: set[str], text: str) -> None:
    """Either a model and a text, or a file that describes a model, with a batch and lengths."""
    sizes = [name for name in ("batch", "source_length", "target_length") if name in given]
    if "config" in given:
        if text or given & {"model", "target"}:
            raise ConfigError(
                "--config describes a model that is not trained: it reads no text",
                hint="leave out -m and the texts, or leave out --config",
            )
    elif sizes:
        raise ConfigError(f"{flag(sizes[0])} goes with --config", hint="a text has a length of its own")
    elif not text:
        raise ConfigError("--shapes of which text?", hint='write it: --shapes "A man is riding a horse."')


def parse_lengths(text: str) -> list[int]:
    try:
        lengths = [int(word) for word in text.split(",")]
    except ValueError:
        lengths = []
    if not lengths or min(lengths) < 1:
        raise ConfigError(f"--lengths {text!r} is no list of lengths", hint=f"write it like {LENGTHS}")
    return lengths
