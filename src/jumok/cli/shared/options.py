"""Options that several commands have, and what is said about them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.completed import offer_words
from jumok.cli.shared.console import say
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.config import DecodingConfig

NOTES = 5  # of a glossary, that are said
Command = Callable[..., Any]
Option = Callable[[Command], Command]

ENGINES = ("auto", "native", "torch")
"""As in `jumok.decoding.opening`, which help must not wait for."""


def grouped(*options: Option) -> Option:
    """One decorator that gives a command all these options, in their order."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


text = partial(click.option, default="")
switch = partial(click.option, is_flag=True)
several = partial(click.option, multiple=True)
count = partial(click.option, type=click.IntRange(min=1), metavar="N")


def choice(*names: str, of: Sequence[str], **more: Any) -> Option:
    """An option that takes one of some words."""
    return click.option(*names, type=click.Choice(of), **more)


class StrictCommand(click.Command):
    """A command that refuses a second value for an option that takes one: click would forget the first."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            _, _, given = self.make_parser(ctx).parse_args(args=list(args))
            for param, times in Counter(given).items():
                single = isinstance(param, click.Option) and not (param.multiple or param.is_flag)
                if single and times > 1:
                    hint = "leave out all but one of them"
                    if param.name == "model" and "A+B" in (param.help or ""):
                        hint += "; several models that answer together are one value: -m A+B"
                    raise ConfigError(
                        f"{param.opts[0]} is given {times} times, and it takes one value", hint=hint
                    )
        return super().parse_args(ctx, args)


def command(examples: str, *, json: str, quiet: str) -> Callable[[Command], click.Command]:
    """A command with --json and -q, whose help texts these are, and with examples at the end of its help."""
    settings = {"help_option_names": ["-h", "--help"]}

    def decorate(function: Command) -> click.Command:
        both = grouped(switch("--json", "as_json", help=json), switch("-q", "--quiet", help=quiet))
        # Options that a command names itself come first.
        name = function.__name__.rstrip("_")  # `import_`: the word alone is Python's
        made = click.command(
            name, cls=StrictCommand, epilog=f"\b\nExamples:{examples}", context_settings=settings
        )(both(function))
        offer_words(made.params)
        made.params.sort(key=lambda option: option.name in ("as_json", "quiet"))
        return made

    return decorate


MODEL = click.option(
    "-m", "--model", required=True, metavar="MODEL", help="Run or model folder; A+B: both together."
)
COLUMNS = text("--columns", metavar="A,B", help="Columns, keys or languages of a file with both sides.")
ERRORS = choice("--errors", of=["strict", "replace"], default="strict", help="Bytes not UTF-8.")
DEVICE = click.option("--device", metavar="NAME", help="cpu, cuda [the best there is].")
ENGINE = choice("--engine", of=ENGINES, default="auto", help="Computes [auto: native on a CPU, else torch].")
MEAN = choice("--mean", of=["probabilities", "logs"], help="What models A+B average [probabilities].")
LONG = choice("--long", of=["split", "cut", "error"], help="Text too long for the model [as trained].")
DRAWING = ("temperature", "top_k", "top_p", "seed")
DRAWS = grouped(
    click.option("--temperature", type=float, metavar="X", help="Below 1 draws more probable tokens."),
    click.option("--top-k", type=click.IntRange(min=0), metavar="N", help="Draw from the N best tokens."),
    click.option("--top-p", type=float, metavar="X", help="Draw from the best tokens with probability X."),
    click.option("--seed", type=int, metavar="N", help="The same seed draws the same answers."),
)
LANGUAGES = grouped(
    click.option("--to", metavar="CODE", help="Language to translate into, of a model with several."),
    click.option("--from", "from_language", metavar="CODE", help="Language of the texts."),
)
SEARCH = grouped(
    LANGUAGES,
    count("--beam", help="Hypotheses per text; 1 is greedy."),
    click.option("--length-penalty", type=float, metavar="X", help="Above 0 favours longer answers."),
    click.option(
        "--mbr",
        type=click.IntRange(0, 256),
        metavar="N",
        help="Draw N answers; give the one that agrees best with all; 0: none.",
    ),
    choice("--utility", of=["chrf", "rouge1"], help="What --mbr compares by [chrf]."),
    DRAWS,
    count("--batch-tokens", help="Size of a batch, in tokens."),
    LONG,
    DEVICE,
    ENGINE,
    MEAN,
    switch(
        "--shortlist",
        default=None,
        help="Compute only likely words: faster. Of jumok export native --shortlist.",
    ),
)
"""How answers are found; what is not given is as the model's folder says."""


GLOSSARY = grouped(
    click.option("--glossary", metavar="FILE", help="Terms: source, tab, translation on each line."),
    choice("--glossary-mode", of=["strict", "soft"], help="Terms always, or if likely enough [strict]."),
)


def with_glossary(search: dict[str, Any], *, quiet: bool) -> dict[str, Any]:
    """The options with the glossary read; what may be meant otherwise in it is said."""
    if "glossary" not in search:
        if "glossary_mode" in search:
            raise ConfigError(
                "--glossary-mode needs --glossary FILE", hint="leave it out, or name a glossary"
            )
        return search
    from jumok.terms.glossary import read_glossary

    glossary = read_glossary(search["glossary"])
    for note in glossary.notes[:NOTES] if not quiet else ():
        say(f"note: {note}")
    return {**search, "glossary": glossary}


def loading_of(options: dict[str, Any], *, quiet: bool) -> dict[str, Any]:
    """What says how a model is loaded, taken out of a command's options."""
    names = ("device", "engine", "mean")
    return given_options({name: options.pop(name) for name in names}) | {"note": say_once(quiet=quiet)}


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that were set on the command line."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != ()
    }


def flag(name: str) -> str:
    """A parameter as it is written on the command line."""
    return {"output": "-o", "model": "-m", "from_language": "--from"}.get(name, f"--{name.replace('_', '-')}")


def check_drawing(given: Mapping[str, Any], usual: "DecodingConfig", ways: str = "--mbr N") -> None:
    """Refuse what changes nothing in a model whose usual way this is; `ways` are the options that draw."""
    from jumok.decoding.jobs import make_request

    chosen = make_request(usual, given).decoding
    for name in DRAWING:
        if name in given and not chosen.draws:
            raise ConfigError(f"{flag(name)} changes nothing in a search", hint=f"add {ways} to draw answers")
    if "utility" in given and not chosen.mbr:
        raise ConfigError(
            "--utility changes nothing without --mbr", hint="add --mbr N to choose among N draws"
        )


def say_once(*, quiet: bool) -> Callable[[str], None]:
    """Says each note once, or nothing at all."""
    said: set[str] = set()

    def note(line: str) -> None:
        if not quiet and line not in said:
            say(f"note: {line}")
        said.add(line)

    return note
