"""HTML in a plain request: its texts wait their turn at the model's worker, its tags go to their words."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import Any

from fastapi import Request

from jumok.decoding.results import Translation
from jumok.decoding.translator import Translator
from jumok.documents.segments import SegmentTranslator
from jumok.formats.encoding import Encoding
from jumok.formats.html_page import page_pieces
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.spliced import Piece, segments_of, write_pieces
from jumok.progress import Progress, silent
from jumok.server.services import ServedModel, Services
from jumok.server.translate.routes import translations

Ask = Callable[[list[str], dict[str, Any]], list[Translation]]


class QueuedTranslator(Translator):
    """A served model as documents use one: every call waits its turn at the model's worker.

    `rank` chooses among the answers: 0 is the best one. A call that was made before is answered from memory.
    """

    def __init__(self, served: Translator, ask: Ask) -> None:
        self.__dict__.update(served.__dict__)
        self._ask, self.rank = ask, 0
        self._known: dict[str, list[Translation]] = {}

    def translate(  # type: ignore[override]  # only lists are asked for
        self, texts: Sequence[str], *, progress: Progress = silent, **options: Any
    ) -> list[Translation]:
        """The answers of this rank to each text; the last where there are fewer."""
        key = repr((list(texts), sorted(options.items(), key=lambda item: item[0])))
        if key not in self._known:
            self._known[key] = self._ask(list(texts), options)
        return [ranked(one, self.rank) for one in self._known[key]]


def ranked(answer: Translation, rank: int) -> Translation:
    """An answer with another of its hypotheses in the first place."""
    if rank == 0 or not answer.alternatives:
        return answer
    other = answer.alternatives[min(rank, len(answer.alternatives)) - 1]
    fields = {name: getattr(other, name) for name in other.__dataclass_fields__}
    return Translation(**fields, source=answer.source)


async def translate_pages(
    served: ServedModel,
    services: Services,
    pages: Sequence[str],
    options: dict[str, Any],
    request: Request,
    *,
    count: int,
) -> list[list[str]]:
    """For each page, or part of one, so many translations, best first and without repetitions."""
    loop = asyncio.get_running_loop()
    asked: list[asyncio.Task[list[Translation]]] = []

    async def answers(texts: list[str], more: dict[str, Any]) -> list[Translation]:
        _, found = await translations(served, services, texts, {**options, **more}, request)
        return found

    def ask(texts: list[str], more: dict[str, Any]) -> list[Translation]:
        """In the thread."""
        return asyncio.run_coroutine_threadsafe(remember(texts, more), loop).result()

    async def remember(texts: list[str], more: dict[str, Any]) -> list[Translation]:
        task = asyncio.ensure_future(answers(texts, more))
        asked.append(task)
        return await task

    queued = QueuedTranslator(served.translator, ask)
    try:
        return await asyncio.to_thread(written_pages, queued, pages, served.target, count)
    finally:  # the client may have gone: nobody waits for what is still being decoded
        for task in asked:
            task.cancel()


def written_pages(
    model: QueuedTranslator, pages: Sequence[str], language: str, count: int
) -> list[list[str]]:
    """The pages in other words; all their segments are asked for together."""
    made = [list(page_pieces(page, Encoding(), language)) for page in pages]
    segments: list[Segment] = [segment for pieces in made for segment in segments_of(pieces)]
    found: list[list[str]] = [[] for _ in pages]
    for rank in range(count):
        model.rank = rank
        answers = iter([one.target for one in SegmentTranslator(model, {}).answers(segments)])
        for several, pieces in zip(found, made, strict=True):
            text = written(pieces, answers)
            if text not in several:
                several.append(text)
    return found


def written(pieces: Sequence[Piece], answers: Iterator[MarkedText | None]) -> str:
    """One page; it takes as many answers as it has segments."""
    out = BytesIO()
    count = sum(1 for _ in segments_of(pieces))
    write_pieces(pieces, out, iter([next(answers) for _ in range(count)]))
    return out.getvalue().decode()
