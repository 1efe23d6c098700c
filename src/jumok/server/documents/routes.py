"""`/v1/documents`: a document becomes a job that is watched, mended, fetched and taken away."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse
from pydantic import Field
from starlette.requests import ClientDisconnect

from jumok.decoding.jobs import GlossaryMode
from jumok.errors import ConfigError
from jumok.formats.known import FORMATS, KnownFormat, by_content, by_name, by_suffix
from jumok.server.documents.desk import ID
from jumok.server.documents.job import DocumentJob, DocumentOrder, source_in
from jumok.server.documents.rows import SegmentRow
from jumok.server.documents.schema import (
    DocumentForm,
    DocumentOut,
    DocumentsOut,
    FileName,
    FormatName,
    SegmentEdit,
    SegmentOut,
    SegmentsOut,
)
from jumok.server.documents.upload import Upload, receive_document, shown_name
from jumok.server.events import EVENTS, Event, stream_endless
from jumok.server.gates.bodies import api_router
from jumok.server.gates.middleware import OCTETS, PARTS
from jumok.server.gates.problems import Problem, bad_field, document, json_answer, request_id
from jumok.server.schema import LanguageCode, Name
from jumok.server.services import ServedModel, Services, SharedServices
from jumok.terms.glossary import Glossary, parse_glossary

router = api_router("documents")

POLL_S = 0.2
MOST_ROWS, MOST_IDS = 500, 64
LARGEST = 2**53
NO_STORE = {"Cache-Control": "no-store"}
DocumentIdText = Annotated[str, Field(pattern=f"^{ID}$")]
DocumentId = Annotated[DocumentIdText, Path(description="An id that POST /v1/documents gave.")]
SegmentNumber = Annotated[int, Path(ge=0, le=LARGEST)]


async def job_of(id: DocumentId, services: SharedServices) -> DocumentJob:
    """The job of this id; 404 for another, or for one whose time is over."""
    return services.documents.get(id)


ThisDocument = Annotated[DocumentJob, Depends(job_of)]
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            OCTETS: {"schema": {"type": "string", "format": "binary", "minLength": 1}},
            PARTS: {"schema": DocumentForm.model_json_schema()},
        },
    }
}


@router.post("/v1/documents", status_code=202, response_model=DocumentOut, openapi_extra=BODY)
async def post_document(  # noqa: PLR0913  each is a parameter of the address
    request: Request,
    services: SharedServices,
    model: Annotated[
        Name | None, Query(description="A name of /v1/models; the first one if not given.")
    ] = None,
    format: Annotated[
        FormatName | None,
        Query(description="If the name does not tell it; csv:text,title says which columns."),
    ] = None,
    name: Annotated[FileName | None, Query(description="What the file is called.")] = None,
    to: Annotated[LanguageCode | None, Query(description="The language to translate into.")] = None,
    from_language: Annotated[LanguageCode | None, Query(description="The language it is in.")] = None,
) -> Response:
    """Takes a document: the file itself, or a form with a field `file`. The answer says its id.

    A form may bring a glossary along. The server's translation memory is used if it has one.
    """
    first = services.model(model)  # a wrong one is told before the document is sent

    def choose(upload: Upload) -> tuple[ServedModel, str | None, str]:
        fields = upload.fields
        served = services.model(fields["model"]) if fields.get("model") else first
        served = served.facing(to or fields.get("to"), from_language or fields.get("from_language"))
        return served, format or fields.get("format") or None, name or upload.name

    job = await take_document(request, services, choose)
    answer = json_answer(document_fields(job, request))
    answer.status_code, answer.headers["Location"] = 202, f"/v1/documents/{job.id}"
    return answer


async def take_document(
    request: Request, services: Services, choose: Callable[[Upload], tuple[ServedModel, str | None, str]]
) -> DocumentJob:
    """The job of a document that a request brings; `choose` says model, format and name when it is here."""
    most, stated = services.limits.document_bytes, request.headers.get("content-length", "")
    with services.documents.arriving(min(int(stated or most), most)) as folder:
        try:
            upload = await receive_document(request, folder / "upload", most)
        except ClientDisconnect:
            raise Problem(400, "gone", "the client went away") from None
        served, format, name = choose(upload)
        if served.translator.tokenizers.pictures is not None:
            raise bad_field("model", "this model reads pictures, not documents")
        shown = shown_name(name)
        kind, _, columns = (format or "").partition(":")
        known = await asyncio.to_thread(format_for, folder / "upload", shown, kind or format)
        (folder / "upload").rename(source_in(folder, known))
        terms = glossary_in(upload, services.limits.terms)
        how = terms, mode_in(upload), served.memory, columns
        order = DocumentOrder(shown, upload.size, known, served.name, served.translator, *how)
        return services.documents.begin(folder, order)


def glossary_in(upload: Upload, most: int) -> Glossary | None:
    """The glossary of a form, in the lines of a TSV; 422 for one that cannot be, or has too many terms."""
    lines = upload.fields.get("glossary", "")
    if not lines.strip():
        return None
    found = parse_glossary(lines.encode())
    if len(found.terms) > most:
        raise bad_field("glossary", f"it has {len(found.terms)} terms, and {most} are the most")
    return found


def mode_in(upload: Upload) -> GlossaryMode:
    """How the glossary of a form is meant; 422 for a word that says nothing."""
    match upload.fields.get("glossary_mode") or "strict":
        case "strict" | "soft" as mode:
            return mode
        case other:
            raise bad_field("glossary_mode", f"it is strict or soft, not {other!r}")


def format_for(path: FilePath, name: str, format: str | None) -> KnownFormat:
    """The format that is named, or that the name or the content of the file tells; 422 for none."""
    names = ", ".join(known.name for known in FORMATS)
    if format is not None:
        try:
            return by_name(format)
        except ConfigError:
            raise bad_field("format", f"there is no such format; known: {names}", "unknown_format") from None
    found = by_suffix(FilePath(name)) or by_content(path)
    if found is None:
        reason = f"neither the name nor the content of the file tells it; known: {names}"
        raise bad_field("format", reason, "unknown_format")
    return found


def document_fields(job: DocumentJob, request: Request) -> dict[str, Any]:
    """How a job stands."""
    order, left, counts = job.order, job.seconds_left, job.counts
    return {
        "id": job.id,
        "name": order.name,
        "format": order.format.name,
        "model": order.model,
        "status": job.status,
        "bytes": order.size,
        "done": job.done,
        "total": job.total,
        "seconds_left": None if left is None else round(left, 1),
        "counts": {
            "translated": counts.translated,
            "present": counts.present,
            "skipped": counts.skipped,
            "doubtful": counts.doubtful,
            "edited": len(job.edited),
        },
        "target_name": order.target_name,
        "problem": job.problem and document(job.problem, request_id(request.scope)),
    }


@router.get("/v1/documents", response_model=DocumentsOut)
async def list_documents(
    request: Request,
    services: SharedServices,
    id: Annotated[
        list[DocumentIdText] | None, Query(max_length=MOST_IDS, description="Ids that you know.")
    ] = None,
) -> Response:
    """The formats, and how the named documents stand; those that are gone are left out. Ids are not told."""
    found = [job for one in dict.fromkeys(id or ()) if (job := services.documents.find(one))]
    formats = [{"name": known.name, "suffixes": list(known.suffixes)} for known in FORMATS]
    return json_answer({"documents": [document_fields(job, request) for job in found], "formats": formats})


@router.get("/v1/documents/{id}", response_model=DocumentOut)
async def show_document(job: ThisDocument, request: Request) -> Response:
    """How a document stands: its progress, what became of its segments, or why it failed."""
    return json_answer(document_fields(job, request))


@router.delete("/v1/documents/{id}", status_code=204)
async def delete_document(job: ThisDocument, services: SharedServices) -> Response:
    """Ends the work and takes the document and all that was made of it away."""
    services.documents.forget(job)
    return Response(status_code=204)


@router.get(
    "/v1/documents/{id}/file",
    response_class=FileResponse,
    responses={200: {"content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}},
)
async def fetch_document(job: ThisDocument) -> Response:
    """The translated document, with all that was mended so far; 409 while there is none."""
    return await file_answer(job)


async def file_answer(job: DocumentJob) -> Response:
    """The file to keep, never to show: whatever it holds, a browser does not run it."""
    if job.status != "done":
        raise Problem(409, "not_done", "there is no translated file yet" if not job.ended else "it failed")
    path = await asyncio.to_thread(job.write)
    return FileResponse(path, media_type=OCTETS, filename=job.order.target_name, headers=NO_STORE)


@router.get("/v1/documents/{id}/events", response_class=StreamingResponse, responses=EVENTS)
async def follow_document(job: ThisDocument, request: Request, services: SharedServices) -> Response:
    """`progress` with how the document stands whenever that has changed, and at the end `final`."""
    return stream_endless(request, services, progress_events(job, request))


async def progress_events(job: DocumentJob, request: Request) -> AsyncGenerator[Event]:
    """How a job stands, until it has ended."""
    told: dict[str, Any] = {}
    while not job.flag.raised:
        ended, now = job.ended, document_fields(job, request)
        if ended:
            yield Event("final", now)
            return
        if now != told:
            told = now
            yield Event("progress", now)
        await asyncio.sleep(POLL_S)
    raise Problem(404, "unknown_document", "the document was taken away")


@router.get("/v1/documents/{id}/segments", response_model=SegmentsOut)
async def list_segments(
    job: ThisDocument,
    skip: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
    count: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
    *,
    doubtful: Annotated[bool, Query(description="Only those that someone should look at.")] = False,
) -> Response:
    """A page of segments in the order of the document, with their translations as far as they have come."""

    def read() -> dict[str, Any]:
        rows = job.rows.page(skip, count, doubtful=doubtful)
        return {"total": job.rows.count(doubtful=doubtful), "segments": list(map(segment_fields, rows))}

    return json_answer(await asyncio.to_thread(read))


def segment_fields(row: SegmentRow) -> dict[str, Any]:
    return {
        "n": row.n,
        "where": row.where,
        "source": row.source,
        "target": row.target,
        "outcome": row.outcome,
        "doubts": list(row.doubts),
        "words": [] if row.edited else [asdict(word) for word in row.words],
        "edited": row.edited,
    }


@router.patch("/v1/documents/{id}/segments/{n}", response_model=SegmentOut)
async def edit_segment(job: ThisDocument, n: SegmentNumber, body: SegmentEdit) -> Response:
    """Writes a person's translation of a segment; the file has it the next time it is fetched."""

    def write() -> dict[str, Any] | None:
        found = job.rows.page(n, 1)
        if not found or found[0].n != n:
            return None
        job.edit(found[0], body.target)
        return segment_fields(job.rows.page(n, 1)[0])

    row = await asyncio.to_thread(write)
    if row is None:
        raise Problem(404, "unknown_segment", "the document has no segment of this number")
    return json_answer(row)
