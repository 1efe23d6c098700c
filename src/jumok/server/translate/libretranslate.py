"""The API of LibreTranslate, so that its clients work as they are: `{"error": …}` and its field names."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.policy import HTTP
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from jumok.config import DecodingConfig
from jumok.formats.known import FORMATS
from jumok.server.gates.bodies import read_json
from jumok.server.gates.bounds import IN_FORCE, AtMost
from jumok.server.gates.middleware import FORM, PARTS
from jumok.server.gates.problems import Problem, bad_field, from_validation
from jumok.server.schema import AnswerPart, Text, Texts
from jumok.server.services import ServedModel, Services, SharedServices, answer_in_time
from jumok.server.translate.corrections import remember
from jumok.server.translate.languages import Detection, detect, language_name
from jumok.server.translate.markup import translate_pages
from jumok.server.translate.routes import recalled_translations

FIELDS = 16  # of a form


class LibreError(AnswerPart):
    error: str


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": LibreError, "description": "A field is missing or wrong."},
    403: {"model": LibreError, "description": "An API key is needed."},
    413: {"model": LibreError, "description": "The body is too large."},
    429: {"model": LibreError, "description": "Busy: come back after Retry-After seconds."},
    405: {"model": LibreError, "description": "Another method is meant."},
    500: {"model": LibreError, "description": "The server or the model failed."},
    503: {"model": LibreError, "description": "The server is stopping."},
}
router = APIRouter(tags=["libretranslate"])


class LibreFields(BaseModel):
    """Fields of LibreTranslate; those that it has and we do not are let pass."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    q: Text | Texts
    api_key: Annotated[str, Field(max_length=256)] | None = None


class TranslateFields(LibreFields):
    source: Annotated[str, Field(min_length=1, max_length=32)]
    target: Annotated[str, Field(min_length=1, max_length=32)]
    format: Annotated[str, Field(max_length=16)] | None = "text"
    alternatives: Annotated[int, Field(ge=0), AtMost("n_best", below=True)] | None = 0


class TranslateForm(TranslateFields):
    """The same as the fields of a web form, which has no lists and no null."""

    q: Text
    api_key: Annotated[str, Field(max_length=256)] = ""
    format: Annotated[str, Field(max_length=16)] = "text"
    alternatives: Annotated[int, Field(ge=0), AtMost("n_best", below=True)] = 0


class DetectFields(LibreFields):
    q: Text


class DetectForm(DetectFields):
    """The same as the fields of a web form."""

    api_key: Annotated[str, Field(max_length=256)] = ""


class SuggestFields(LibreFields):
    """`s` is what the translation of `q` should be."""

    q: Annotated[Text, Field(min_length=1)]
    s: Annotated[Text, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1, max_length=32)]
    target: Annotated[str, Field(min_length=1, max_length=32)]


class SuggestForm(SuggestFields):
    """The same as the fields of a web form."""

    api_key: Annotated[str, Field(max_length=256)] = ""


class Suggested(AnswerPart):
    success: bool


class LibreTranslation(AnswerPart):
    translatedText: str | list[str]  # noqa: N815
    detectedLanguage: Detection | list[Detection] | None = None  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None


class Language(AnswerPart):
    code: str
    name: str
    targets: list[str]


def body_of(json: type[BaseModel], form: type[BaseModel]) -> dict[str, Any]:
    """The request body for the OpenAPI document, in JSON or as a form: these routes read it themselves."""
    kinds = {"application/json": json, FORM: form, PARTS: form}
    content = {kind: {"schema": model.model_json_schema()} for kind, model in kinds.items()}
    return {"requestBody": {"required": True, "content": content}}


@router.post(
    "/translate",
    response_model_exclude_none=True,
    responses=ERRORS,
    openapi_extra=body_of(TranslateFields, TranslateForm),
)
async def translate(request: Request, services: SharedServices) -> LibreTranslation:
    """Translates `q`, a text or in JSON a list of texts, by the first model for this pair of languages."""
    fields = await read_fields(request, services, TranslateFields)
    texts = [fields.q] if isinstance(fields.q, str) else fields.q
    if fields.format not in (None, "text", "html"):
        raise bad_field("format", "text and html can be translated", status=400)
    detected: list[Detection] = []
    if fields.source == "auto":
        guesses = asyncio.to_thread(guess_all, texts, services)
        detected = await answer_in_time(request, services, guesses)
    count = fields.alternatives or 0
    sources = [one.language for one in detected] or [fields.source] * len(texts)
    asked = Asked(fields.target, count, is_html=fields.format == "html")
    found = await answer_in_time(request, services, by_language(sources, texts, asked, request, services))
    answer: dict[str, list[Any]] = {"translatedText": [best for best, *_ in found]}
    if detected:
        answer["detectedLanguage"] = detected
    if count:
        answer["alternatives"] = [others for _, *others in found]
    one = isinstance(fields.q, str)
    return LibreTranslation(**{name: values[0] if one else values for name, values in answer.items()})


async def read_fields(request: Request, services: Services, model: type[Any]) -> Any:
    """The fields of a body in JSON or in the form of a web form, checked, with the key if one is needed."""
    given = await read_body(request)
    try:
        fields = model.model_validate(given)
    except ValidationError as error:
        errors = error.errors(include_input=False, include_url=False)
        raise from_validation([{**one, "loc": ("body", *one["loc"])} for one in errors]) from None
    check_key(request, services, fields.api_key)
    return fields


def check_key(request: Request, services: Services, given: object) -> None:
    """Refuse a request without a key, if one is needed; one in the headers was looked at before."""
    unnamed = services.keys and "authorization" not in request.headers
    if unnamed and not (isinstance(given, str) and services.keys.admit(given)):
        raise Problem(403, "key_missing", "an API key is needed")


async def check_reader(request: Request, services: Services) -> None:
    """`check_key` of a GET: some clients send their key in a body even there."""
    if services.keys:
        given = await read_body(request)
        check_key(request, services, given.get("api_key") if isinstance(given, dict) else None)


async def read_body(request: Request) -> Any:
    """What a body says, as JSON or in either of the ways that web forms are sent in."""
    body, kind = await request.body(), request.headers.get("content-type", "")
    form = kind.partition(";")[0].strip().lower()
    if form not in (FORM, PARTS):
        return read_json(body, IN_FORCE.get().depth) if body else {}
    try:
        if form == PARTS:
            return read_parts(kind, body)
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS, errors="strict"))
    except UnicodeDecodeError:
        raise Problem(400, "bad_utf8", "the form is not UTF-8") from None
    except ValueError:
        raise Problem(400, "bad_parameter", f"a form has at most {FIELDS} fields") from None


def read_parts(kind: str, body: bytes) -> dict[str, str]:
    """The texts of a form in parts (RFC 7578), as a page's FormData sends it; files are not read."""
    head = f"Content-Type: {kind}\r\n\r\n".encode("latin-1")
    whole = message_from_bytes(head + body, policy=HTTP)
    parts = list(whole.iter_parts())
    if not parts:
        raise Problem(400, "bad_parameter", "the form has no parts: its boundary is missing or wrong")
    if len(parts) > FIELDS:
        raise ValueError
    found = {}
    for part in parts:
        name = part.get_param("name", header="content-disposition")
        text = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(text, bytes) and part.get_filename() is None:
            found[name] = text.decode()
    return found


def guess_all(texts: Sequence[str], services: Services) -> list[Detection]:
    found = [detect(text, list(services.models.values()))[:1] for text in texts]
    if not all(found):
        raise Problem(400, "unknown_model", "no model that reads text is loaded")
    return [one for [one] in found]


@dataclass(frozen=True)
class Asked:
    """What all texts of a request have in common."""

    target: str
    alternatives: int
    is_html: bool


async def by_language(
    sources: Sequence[str], texts: Sequence[str], asked: Asked, request: Request, services: Services
) -> list[list[str]]:
    """The translations of each text, best first; texts in one language go to its model together."""
    found: dict[int, list[str]] = {}
    for code in dict.fromkeys(sources):
        served = pick(services, code, asked.target)
        places = [i for i, source in enumerate(sources) if source == code]
        some, count = [texts[i] for i in places], asked.alternatives + 1
        options = several(served.translator.config.decoding, count)
        if asked.is_html:
            pages = await translate_pages(served, services, some, options, request, count=count)
            found.update(zip(places, pages, strict=True))
        else:
            answers = await recalled_translations(served, services, some, options, request)
            found.update(
                (i, [each.text for each in one.hypotheses]) for i, one in zip(places, answers, strict=True)
            )
    return [found[i] for i in range(len(texts))]


def several(usual: DecodingConfig, count: int) -> dict[str, int]:
    """The options that give so many answers, found in the model's usual way."""
    if count == 1 or usual.sample:
        return {"n_best": count}
    way = "mbr" if usual.mbr else "beam"
    return {"n_best": count, way: max(getattr(usual, way), count)}


def pick(services: Services, source: str, target: str) -> ServedModel:
    """The first model for a pair of languages."""
    sources = set[str]()
    for served in services.models.values():
        for direction in served.directions:
            known = tuple(code or "und" for code in direction)
            if known == (source, target):
                return served.facing(direction.target, direction.source)
            sources.add(known[0])
    side = "target" if source in sources else "source"
    raise bad_field(side, "no model for this language; GET /languages lists them", status=400)


@router.post("/detect", responses=ERRORS, openapi_extra=body_of(DetectFields, DetectForm))
async def detect_language(request: Request, services: SharedServices) -> list[Detection]:
    """Which of the loaded source languages a text is in, the most likely first."""
    fields = await read_fields(request, services, DetectFields)
    return await asyncio.to_thread(detect, fields.q, list(services.models.values()))


@router.post("/suggest", responses=ERRORS, openapi_extra=body_of(SuggestFields, SuggestForm))
async def suggest(request: Request, services: SharedServices) -> Suggested:
    """Remembers what a translation should be, in the file that the server was started with; else 403."""
    fields = await read_fields(request, services, SuggestFields)
    source = fields.source
    if source == "auto":
        [found] = await asyncio.to_thread(guess_all, [fields.q], services)
        source = found.language
    served = pick(services, source, fields.target)
    await remember(served, services, fields.q, fields.s, request)
    return Suggested(success=True)


@router.get("/languages", responses={403: ERRORS[403]})
async def languages(request: Request, services: SharedServices) -> list[Language]:
    """The languages that can be translated from, and what into."""
    await check_reader(request, services)
    targets: dict[str, list[str]] = {}
    for served in services.models.values():
        for source, target in served.directions:
            into = targets.setdefault(source or "und", [])
            if (target or "und") not in into:
                into.append(target or "und")
    return [Language(code=code, name=language_name(code), targets=into) for code, into in targets.items()]


@router.get("/frontend/settings", responses={403: ERRORS[403]})
async def frontend_settings(request: Request, services: SharedServices) -> dict[str, Any]:
    """What LibreTranslate's own page and its clients ask at the start."""
    await check_reader(request, services)
    first = next(iter(services.models.values()), None)
    source, target = (code or "und" for code in first.directions[0]) if first else ("auto", "")
    return {
        "apiKeys": bool(services.keys),
        "charLimit": services.limits.characters,
        "frontendTimeout": 500,
        "keyRequired": bool(services.keys),
        "language": {
            "source": {"code": source, "name": language_name(source)},
            "target": {"code": target, "name": language_name(target)},
        },
        "suggestions": services.corrections is not None,
        "supportedFilesFormat": [suffix for known in FORMATS for suffix in known.suffixes],
    }
