"""The list of commands. Each one's module is imported only when it is used, so help is instant."""

import os
import signal
import sys
from importlib import import_module
from typing import Any

import click

COMMANDS = {
    "demo": "Train the three models on written dates and see the difference.",
    "train": "Train a model from two text files; run again to resume.",
    "translate": "Translate text, files or standard input.",
    "score": "Log-probabilities of given translations.",
    "evaluate": "BLEU, chrF and more, by sentence length, with intervals.",
    "check": "What is wrong with a corpus, with line numbers.",
    "inspect": "A model's card, shapes, cost and attention.",
    "verify": "Is a model folder whole and unchanged?",
    "completion": "Print a shell completion script.",
    "version": "Versions and devices.",
}


class LazyGroup(click.Group):
    """A group whose commands live in `jumok.cli.<name>` under the same name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"jumok.cli.{name}"), name)
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


@click.group(cls=LazyGroup, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Sequence-to-sequence models that you can train, see inside and ship."""


def main(args: list[str] | None = None) -> None:
    """Run a command; turn our errors into a few lines and an exit code."""
    # A user's mistake gets a sentence, never a traceback; --debug in the environment brings it back.
    try:
        code = cli.main(args=args, standalone_mode=False)
        flush(sys.stdout)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.UsageError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is wrong, and Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        sys.exit(report(error))


def report(error: Exception) -> int:
    """Print an error in three parts and give the exit code; unexpected ones keep their traceback."""
    from jumok.errors import Error

    if isinstance(error, Error) and not os.environ.get("JUMOK_DEBUG"):
        first, *rest = str(error).split("\n")
        click.echo(f"error: {first}", err=True)
        for line in rest:
            click.echo(line, err=True)
        return error.exit_code
    raise error


def flush(stream: Any) -> None:
    """Meet a closed pipe now, where it can be handled, not at interpreter exit."""
    stream.flush()
