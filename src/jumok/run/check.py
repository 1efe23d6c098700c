"""`jumok.check`: what is wrong with a corpus, in the words of `jumok.train`."""

from pathlib import Path

from jumok.data.reader import CheckReport, examine
from jumok.progress import Progress, silent
from jumok.run.plan import check_given
from jumok.run.prepare import open_corpora


def check(
    source: str | Path = "",
    target: str | Path = "",
    *,
    data: str = "",
    valid_source: str | Path = "",
    valid_target: str | Path = "",
    images: str | Path = "",
    columns: str = "",
    progress: Progress = silent,
) -> CheckReport:
    """Look at the files that `jumok.train` would read, or at a built-in set, and say what is wrong with them.

    The report has `findings`, each with its severity, count, lines and advice, and `has_errors`.
    """
    plain = {
        "data.source": str(source),
        "data.target": str(target),
        "data.name": data,
        "data.valid_source": str(valid_source),
        "data.valid_target": str(valid_target),
        "data.images": str(images),
        "data.columns": columns,
    }
    corpora = open_corpora(check_given({key: value for key, value in plain.items() if value}))
    others = {} if corpora.valid is None else {"valid": corpora.valid}
    return examine(corpora.train, others=others, progress=progress)
