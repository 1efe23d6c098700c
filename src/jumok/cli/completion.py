"""`jumok completion`: a script that lets a shell complete commands, options and paths."""

import click
from click.shell_completion import get_completion_class

from jumok.cli.shared.console import to_json
from jumok.cli.shared.options import command

SHELLS = ("bash", "zsh", "fish")

EXAMPLES = """
  eval "$(jumok completion bash)"        # or put the line into ~/.bashrc
  eval "$(jumok completion zsh)"         # or put the line into ~/.zshrc
  jumok completion fish | source         # or > ~/.config/fish/completions/jumok.fish
"""


@command(
    EXAMPLES, json="The script inside one JSON object.", quiet="Changes nothing: the script is all there is."
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str, *, as_json: bool, quiet: bool) -> None:
    """Print a shell completion script for bash, zsh or fish."""
    script = script_for(shell)
    click.echo(to_json({"shell": shell, "script": script}) if as_json else script)


def script_for(shell: str) -> str:
    """The script; while completing, the shell asks jumok itself by setting _JUMOK_COMPLETE."""
    from jumok.cli.main import cli

    complete = get_completion_class(shell)
    assert complete is not None
    about = complete(cli, {}, "jumok", "_JUMOK_COMPLETE")
    return about.source_template % about.source_vars()
