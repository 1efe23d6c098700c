"""`jumok.check`: what is wrong with a corpus, in the words of `jumok.train`."""

from collections.abc import Sequence
from pathlib import Path

from jumok.data.reader import CheckReport, examine
from jumok.progress import Progress, silent
from jumok.run.corpora import named_data, open_corpora
from jumok.run.mixture import look_at_mixture
from jumok.settings import check_given


def check(  # noqa: PLR0913  all have defaults
    source: str | Path = "",
    target: str | Path = "",
    *,
    data: str | Sequence[str] = "",
    valid: Sequence[str] = (),
    valid_source: str | Path = "",
    valid_target: str | Path = "",
    images: str | Path = "",
    columns: str = "",
    progress: Progress = silent,
) -> CheckReport:
    """Look at the files that `jumok.train` would read, or at a built-in set, and say what is wrong with them.

    `data` is the name of a built-in set, or a list of several corpora, and `valid` their validation files.

    The report has `findings`, each with its severity, count, lines and advice, and `has_errors`.
    """
    plain = {
        "data.source": str(source),
        "data.target": str(target),
        **named_data(data, valid),
        "data.valid_source": str(valid_source),
        "data.valid_target": str(valid_target),
        "data.images": str(images),
        "data.columns": columns,
    }
    corpora = open_corpora(check_given({key: value for key, value in plain.items() if value}))
    if corpora.mixture is not None:
        return look_at_mixture(corpora.mixture, progress)
    others = {} if corpora.valid is None else {"valid": corpora.valid}
    return examine(corpora.train, others=others, progress=progress)
