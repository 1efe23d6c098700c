"""The list of commands. Each one's module is imported only when it is used, so help is instant."""

import os
import signal
import sys
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

COMMANDS = {
    "demo": "Train the three models on written dates and see the difference.",
    "train": "Train a model from two text files; run again to resume.",
    "translate": "Translate text, files or standard input.",
    "chat": "Talk to a model; /attention shows where an answer looked.",
    "score": "Log-probabilities of given translations.",
    "evaluate": "BLEU, chrF and more, by sentence length, with intervals.",
    "calibrate": "Learn how sure a model may be of its words.",
    "compare": "Several architectures on the same data, in one report.",
    "check": "What is wrong with a corpus, with line numbers.",
    "inspect": "A model's card, shapes, cost and attention.",
    "neighbours": "Which training sentences had states like these.",
    "import": "A model of another program, with proof that it agrees.",
    "average": "The mean of several models' weights, as one model.",
    "export": "A model for another program, with proof that it agrees.",
    "serve": "The explorer and the HTTP API for trained models.",
    "site": "The explorer as a folder of files, without a server.",
    "learn": "The notes on attention as notebooks that run.",
    "verify": "Is a model folder whole and unchanged?",
    "completion": "Print a shell completion script.",
    "version": "Versions and devices.",
}


class ClosedPipe(Exception):  # noqa: N818
    """Whoever read our output has gone away. Not an OSError: click would take that for a failure."""


class LazyGroup(click.Group):
    """A group whose commands live in `jumok.cli.<name>` under the same name."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipe from error
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            from jumok.errors import needs_torch

            raise needs_torch(f"jumok {ctx.invoked_subcommand}") from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        word = f"{name}_" if iskeyword(name) else name  # import
        command: click.Command = getattr(import_module(f"jumok.cli.{word}"), word)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = not args or args[0] in COMMANDS or args[0].startswith("-")
        if not known and not ctx.resilient_parsing:
            from jumok.errors import ConfigError, nearest

            raise ConfigError(f"unknown command {args[0]!r}", hint=nearest(args[0], COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


EXAMPLES = """\b
Examples:
  jumok demo
  jumok train --source train.en --target train.de --out runs/en-de
  echo "A man is riding a horse." | jumok translate -m runs/en-de
"""


def show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001
    if asked and not ctx.resilient_parsing:
        from jumok import __version__

        click.echo(f"jumok {__version__}")
        ctx.exit()


@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=show_version,
    help="Show the version and exit; jumok version says more.",
)
@click.group(cls=LazyGroup, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Sequence-to-sequence models that you can train, see inside and ship."""


def main(args: list[str] | None = None) -> None:
    """Run a command; turn our errors into a few lines and an exit code."""
    # A user's mistake gets a sentence, never a traceback; JUMOK_DEBUG in the environment brings it back.
    # Threads that wait had better sleep: spinning is somewhat faster on an idle machine and several times
    # slower beside a busy program (benchmarks/README.md). torch reads this when a command loads it.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    open_closed_streams()
    try:
        code = cli.main(args=args, standalone_mode=False)
        sys.stdout.flush()  # meet a closed pipe now, where it can be handled, not at interpreter exit
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(128 + signal.SIGINT)
    except (ClosedPipe, BrokenPipeError):
        drop_output()  # the reader went away (`| head`): nothing is wrong
        sys.exit(0)
    except Exception as error:
        sys.exit(report(error))


def report(error: Exception) -> int:
    """Print an error in three parts and give the exit code; unexpected ones keep their traceback."""
    from jumok.errors import Error

    if os.environ.get("JUMOK_DEBUG") or not isinstance(error, Error | OSError):
        raise error
    if isinstance(error, Error):
        click.echo(f"error: {error}", err=True)
        return error.exit_code
    drop_output()
    where = f"\n  {error.filename}" if error.filename else ""
    click.echo(f"error: {error.strerror or error}{where}", err=True)
    return 1


def open_closed_streams() -> None:
    """Started with a stream closed (`>&-`), Python has None in its place: it reads and writes nothing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def drop_output() -> None:
    """Send what is still in the buffers to nowhere, so that Python does not complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
