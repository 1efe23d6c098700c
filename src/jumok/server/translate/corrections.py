"""`/v1/corrections`: what a translation should have been, kept in a file of whoever runs the server."""

import asyncio

from fastapi import Request

from jumok.errors import DataError, Error
from jumok.server.gates.bodies import api_router, problem_of
from jumok.server.gates.problems import Problem, bad_field
from jumok.server.schema import CorrectionAnswer, CorrectionRequest
from jumok.server.services import ServedModel, Services, SharedServices

OFF = "this server does not remember corrections: it was started without --remember FILE"
router = api_router("translate")


@router.post("/v1/corrections", responses={507: problem_of("There is no room for more corrections.")})
async def correct(body: CorrectionRequest, request: Request, services: SharedServices) -> CorrectionAnswer:
    """Adds a pair to the server's file of corrections, and answers when the disk has it; else 403."""
    served = services.model(body.model).facing(body.to, body.from_language)
    await remember(served, services, body.source, body.target, request)
    return CorrectionAnswer(remembered=True, source_language=served.source, target_language=served.target)


async def remember(
    served: ServedModel, services: Services, source: str, target: str, request: Request
) -> None:
    """Keep a correction of a model. 403: they are not kept; 429: too often; 507: the file is full."""
    if services.corrections is None:
        raise Problem(403, "corrections_off", OFF)
    services.pace.take(request)
    data = served.translator.config.data
    languages = data.source_language, data.target_language
    try:
        await asyncio.to_thread(services.corrections.add, source, target, languages)
    except DataError as error:
        if error.code == "blank":
            raise bad_field("target" if source.strip() else "source", "a text is needed") from None
        raise
    except Error as error:
        if error.code in ("full", "io_error"):
            raise Problem(507, error.code, "the server has no room for more corrections") from None
        raise
