"""The API of LibreTranslate, so that its clients work as they are: `{"error": …}` and its field names."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from jumok.config import DecodingConfig
from jumok.decoding.results import Translation
from jumok.server.gates.bodies import read_json
from jumok.server.gates.limits import DEFAULTS
from jumok.server.gates.middleware import FORM
from jumok.server.gates.problems import Problem, bad_field, from_validation
from jumok.server.schema import AnswerPart, Text, Texts
from jumok.server.services import ServedModel, Services, SharedServices, answer_in_time
from jumok.server.translate.languages import Detection, detect, language_name
from jumok.server.translate.routes import translations

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
    alternatives: Annotated[int, Field(ge=0, lt=DEFAULTS.n_best)] | None = 0


class TranslateForm(TranslateFields):
    """The same as the fields of a web form, which has no lists and no null."""

    q: Text
    api_key: Annotated[str, Field(max_length=256)] = ""
    format: Annotated[str, Field(max_length=16)] = "text"
    alternatives: Annotated[int, Field(ge=0, lt=DEFAULTS.n_best)] = 0


class DetectFields(LibreFields):
    q: Text


class LibreTranslation(AnswerPart):
    translatedText: str | list[str]  # noqa: N815
    detectedLanguage: Detection | list[Detection] | None = None  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None


class Language(AnswerPart):
    code: str
    name: str
    targets: list[str]


def body_of(**kinds: type[BaseModel]) -> dict[str, Any]:
    """The request body for the OpenAPI document, in JSON or as a form: these routes read it themselves."""
    names = {"json": "application/json", "form": FORM}
    content = {names[kind]: {"schema": model.model_json_schema()} for kind, model in kinds.items()}
    return {"requestBody": {"required": True, "content": content}}


@router.post(
    "/translate",
    response_model_exclude_none=True,
    responses=ERRORS,
    openapi_extra=body_of(json=TranslateFields, form=TranslateForm),
)
async def translate(request: Request, services: SharedServices) -> LibreTranslation:
    """Translates `q`, a text or in JSON a list of texts, by the first model for this pair of languages."""
    fields = await read_fields(request, services, TranslateFields)
    texts = [fields.q] if isinstance(fields.q, str) else fields.q
    if fields.format not in (None, "text"):
        raise bad_field("format", "only text can be translated", status=400)
    detected: list[Detection] = []
    if fields.source == "auto":
        guesses = asyncio.to_thread(guess_all, texts, services)
        detected = await answer_in_time(request, services, guesses)
    count = fields.alternatives or 0
    sources = [one.language for one in detected] or [fields.source] * len(texts)
    found = await answer_in_time(
        request, services, by_language(sources, fields.target, texts, count, request, services)
    )
    answer: dict[str, list[Any]] = {"translatedText": [each.text for each in found]}
    if detected:
        answer["detectedLanguage"] = detected
    if count:
        answer["alternatives"] = [[other.text for other in each.alternatives] for each in found]
    one = isinstance(fields.q, str)
    return LibreTranslation(**{name: values[0] if one else values for name, values in answer.items()})


async def read_fields(request: Request, services: Services, model: type[Any]) -> Any:
    """The fields of a body in JSON or in the form of a web form, checked, with the key if one is needed."""
    body = await request.body()
    given: Any
    if request.headers.get("content-type", "").lower().startswith(FORM):
        try:
            given = dict(
                parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS, errors="strict")
            )
        except UnicodeDecodeError:
            raise Problem(400, "bad_utf8", "the form is not UTF-8") from None
        except ValueError:
            raise Problem(400, "bad_parameter", f"a form has at most {FIELDS} fields") from None
    else:
        given = read_json(body) if body else {}
    try:
        fields = model.model_validate(given)
    except ValidationError as error:
        errors = error.errors(include_input=False, include_url=False)
        raise from_validation([{**one, "loc": ("body", *one["loc"])} for one in errors]) from None
    unnamed = services.keys and "authorization" not in request.headers
    if unnamed and not services.keys.admit(fields.api_key or ""):
        raise Problem(403, "key_missing", "an API key is needed")
    return fields


def guess_all(texts: Sequence[str], services: Services) -> list[Detection]:
    found = [detect(text, list(services.models.values()))[:1] for text in texts]
    if not all(found):
        raise Problem(400, "unknown_model", "no model that reads text is loaded")
    return [one for [one] in found]


async def by_language(
    sources: Sequence[str],
    target: str,
    texts: Sequence[str],
    alternatives: int,
    request: Request,
    services: Services,
) -> list[Translation]:
    """Translations in order; texts in one language go to its model together."""
    found: dict[int, Translation] = {}
    for code in dict.fromkeys(sources):
        served = pick(services, code, target)
        places = [i for i, source in enumerate(sources) if source == code]
        options = several(served.translator.config.decoding, alternatives + 1)
        _, answers = await translations(served, services, [texts[i] for i in places], options, request)
        found.update(zip(places, answers, strict=True))
    return [found[i] for i in range(len(texts))]


def several(usual: DecodingConfig, count: int) -> dict[str, int]:
    """The options that give so many answers, found in the model's usual way."""
    if count == 1 or usual.sample:
        return {"n_best": count}
    way = "mbr" if usual.mbr else "beam"
    return {"n_best": count, way: max(getattr(usual, way), count)}


def pick(services: Services, source: str, target: str) -> ServedModel:
    """The first model for a pair of languages."""
    for served in services.models.values():
        if (served.source, served.target) == (source, target):
            return served
    side = "target" if any(served.source == source for served in services.models.values()) else "source"
    raise bad_field(side, "no model for this language; GET /languages lists them", status=400)


@router.post("/detect", responses=ERRORS, openapi_extra=body_of(json=DetectFields))
async def detect_language(request: Request, services: SharedServices) -> list[Detection]:
    """Which of the loaded source languages a text is in, the most likely first."""
    fields = await read_fields(request, services, DetectFields)
    return await asyncio.to_thread(detect, fields.q, list(services.models.values()))


@router.get("/languages", responses={403: ERRORS[403]})
async def languages(services: SharedServices) -> list[Language]:
    """The languages that can be translated from, and what into."""
    targets: dict[str, list[str]] = {}
    for served in services.models.values():
        into = targets.setdefault(served.source, [])
        if served.target not in into:
            into.append(served.target)
    return [Language(code=code, name=language_name(code), targets=into) for code, into in targets.items()]


@router.get("/frontend/settings", responses={403: ERRORS[403]})
async def frontend_settings(services: SharedServices) -> dict[str, Any]:
    """What LibreTranslate's own page and its clients ask at the start."""
    first = next(iter(services.models.values()), None)
    source, target = (first.source, first.target) if first else ("auto", "")
    return {
        "apiKeys": bool(services.keys),
        "charLimit": services.limits.characters,
        "frontendTimeout": 500,
        "keyRequired": bool(services.keys),
        "language": {
            "source": {"code": source, "name": language_name(source)},
            "target": {"code": target, "name": language_name(target)},
        },
        "suggestions": False,
        "supportedFilesFormat": [],
    }
