"""LibreTranslate's files: `/translate_file` waits for the translation and says where to fetch it."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import FileResponse, Response
from pydantic import ConfigDict, Field

from jumok.server.documents.desk import ID, ID_BYTES
from jumok.server.documents.job import DocumentJob
from jumok.server.documents.routes import file_answer, take_document
from jumok.server.documents.upload import Upload
from jumok.server.gates.middleware import OCTETS, PARTS
from jumok.server.gates.problems import Problem, bad_field
from jumok.server.schema import AnswerPart, RequestBody
from jumok.server.services import ServedModel, Services, SharedServices, disconnected
from jumok.server.translate.libretranslate import ERRORS, LibreError, check_key, pick

router = APIRouter(tags=["libretranslate"])

POLL_S = 0.05


class FileForm(RequestBody):
    """A form with a file and its languages."""

    model_config = ConfigDict(extra="ignore")

    file: Annotated[bytes, Field(min_length=1, json_schema_extra={"format": "binary"})]
    source: Annotated[str, Field(min_length=1, max_length=32)]
    target: Annotated[str, Field(min_length=1, max_length=32)]
    api_key: Annotated[str, Field(max_length=256)] = ""


class LibreFile(AnswerPart):
    translatedFileUrl: str  # noqa: N815


BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {PARTS: {"schema": FileForm.model_json_schema()}}}
}


@router.post("/translate_file", responses=ERRORS, openapi_extra=BODY)
async def translate_file(request: Request, services: SharedServices) -> LibreFile:
    """Translates a file by the first model for this pair of languages; answers when it is done.

    Whoever has the address can fetch the file, until it has not been asked for in a while.
    """

    def choose(upload: Upload) -> tuple[ServedModel, str | None, str]:
        fields = upload.fields
        check_key(request, services, fields.get("api_key"))
        for name in ("source", "target"):
            if not fields.get(name):
                raise bad_field(name, "field required", status=400)
        return served_for(services, fields["source"], fields["target"]), None, upload.name

    job = await take_document(request, services, choose)
    try:
        await finish(job, request)
    except BaseException:
        services.documents.forget(job)
        raise
    server = f"{request.url.scheme}://{request.headers['host']}"
    return LibreFile(translatedFileUrl=f"{server}/download_file/{job.id}{job.source.suffix}")


def served_for(services: Services, source: str, target: str) -> ServedModel:
    """The first model for a pair of languages; `auto` will do where only one language can be meant."""
    if source == "auto":
        every = [one for served in services.models.values() for one in served.directions]
        sources = {one.source or "und" for one in every if (one.target or "und") == target}
        if len(sources) > 1:
            raise bad_field("source", "name the language of the file: several are loaded", status=400)
        source = next(iter(sources), source)
    return pick(services, source, target)


async def finish(job: DocumentJob, request: Request) -> None:
    """Wait for the end of a job, and for no one who has gone. A job that failed says why."""
    gone = asyncio.ensure_future(disconnected(request))
    try:
        while not (job.ended or job.flag.raised):
            if gone.done():
                raise Problem(400, "gone", "the client went away")
            await asyncio.wait({gone}, timeout=POLL_S)
    finally:
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
    if job.status != "done":
        raise job.problem or Problem(503, "draining", "the server is stopping")


@router.get(
    "/download_file/{name}",
    response_class=FileResponse,
    responses={
        200: {"content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}},
        "4XX": {"model": LibreError, "description": "There is no such file, or its time is over."},
    },
)
async def download_file(
    name: Annotated[str, Path(max_length=64, pattern=rf"^{ID}(\.[a-z0-9]+)?$")], services: SharedServices
) -> Response:
    """A translated file; no key is needed, because nobody guesses its name."""
    return await file_answer(services.documents.get(name[: 2 * ID_BYTES]))
