"""`jumok site`: the explorer of some models as a folder of files, for any web host and without a server."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jumok.cli.serve import bundled_runs, name_models, record_of, samples_of
from jumok.cli.shared.console import print_json, say
from jumok.cli.shared.options import command, several
from jumok.cli.shared.output import check_output
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.site.folder import SiteModel

EXAMPLES = """
  jumok site -o site
  jumok site -m runs/en-de -m small=runs/small -o site --runs runs
  jumok site -m demo/ko-en -m demo/transformer -o site
  jumok site -o site --neighbours
  jumok site -m runs/int8 -o site --json
  jumok site -m runs/int8 -o model.html
"""
FOLDER = click.Path(path_type=Path)


@command(EXAMPLES, json="One JSON object on standard output.", quiet="Print only the folder.")
@several("-m", "--model", "models", metavar="MODEL", help="A run or model folder, or NAME=FOLDER.")
@click.option("-o", "--out", type=FOLDER, required=True, metavar="PATH", help="A folder, or one .html file.")
@click.option("--runs", type=FOLDER, metavar="DIR", help="Show the training runs in this folder, too.")
@click.option("--neighbours", is_flag=True, help="With the training sentences of an index of states.")
def site(
    models: tuple[str, ...], out: Path, runs: Path | None, *, neighbours: bool, as_json: bool, quiet: bool
) -> None:
    """Write the explorer of one model or more as a folder that any web host can serve.

    Everything is computed in the reader's browser, by the C engine as WebAssembly; nothing is sent anywhere.
    The folder holds the models, and with --neighbours the training sentences that lie beside them in
    neighbours.safetensors: whoever can open the page can copy them. Without -m, the three small models of
    dates that come with the package. With a name that ends with .html it is one file, which opens from a
    disk and has no runs and no Learn.
    """
    from jumok.checkpoint.bundled import bundled, examples_of, named_folder
    from jumok.server.runs.catalog import Runs
    from jumok.site.folder import SiteModel, total, write_site

    if runs is not None and not runs.is_dir():
        raise ConfigError(f"--runs {runs}: there is no such folder", hint="name a folder that exists")
    shown = runs or (None if models else bundled_runs())
    folders = {name: named_folder(folder) for name, folder in name_models(models).items()}
    folders = folders or dict(reversed(bundled().items()))
    catalog = Runs(shown)
    chosen = {
        name: SiteModel(
            folder,
            examples=examples_of(folder) or samples_of(record_of(folder)),
            run=catalog.name_of(record_of(folder)),
            neighbours=neighbours,
        )
        for name, folder in folders.items()
    }
    if out.suffix == ".html":
        return one_file(chosen, out, as_json=as_json, quiet=quiet)
    mine = () if runs else tuple(one.run for one in chosen.values() if one.run)
    files = write_site(chosen, out, runs=shown, only=mine)
    size = total(files, out)
    if as_json:
        print_json({"folder": str(out), "models": list(chosen), "files": len(files), "bytes": size})
    elif quiet:
        click.echo(str(out))
    else:
        click.echo(f"site       {out}")
        say(f"models     {' · '.join(chosen)}     {len(files)} files, {size / 1e6:.1f} MB")
        say(f"try it     python3 -m http.server --directory {out}")


def one_file(models: "dict[str, SiteModel]", out: Path, *, as_json: bool, quiet: bool) -> None:
    from jumok.site.one_file import one_page

    check_output(str(out))
    text = one_page(models, title=f"{' · '.join(models)} · jumok")
    out.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"file": str(out), "models": list(models), "bytes": len(text.encode())})
    elif quiet:
        click.echo(str(out))
    else:
        click.echo(f"page       {out}")
        say(f"models     {' · '.join(models)}     {len(text.encode()) / 1e6:.1f} MB; open it in a browser")
