"""Which models are served: their cards, sizes, limits and position rows."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Path, Query
from fastapi.responses import Response

from jumok.decoding.translator import Translator
from jumok.explain.manifest import kind_sizes
from jumok.explain.neighbours import has_index
from jumok.explain.trace import position_rows as rows_of
from jumok.server.analysis import CancelFlag
from jumok.server.gates.bodies import api_router
from jumok.server.gates.problems import json_answer
from jumok.server.schema import Card, Cards, DirectionOut, Name, PositionRows
from jumok.server.services import ServedModel, Services, SharedServices

router = api_router("models")

ModelName = Annotated[Name, Path(description="A name of /v1/models.")]


@router.get("/v1/models")
async def list_models(services: SharedServices) -> Cards:
    """The cards of all models, in the order in which they were named at the start."""
    return Cards(models=[card(served, services) for served in services.models.values()])


@router.get("/v1/models/{model}")
async def show_model(model: ModelName, services: SharedServices) -> Card:
    """One model's card."""
    return card(services.model(model), services)


@router.get("/v1/models/{model}/positions", response_model=PositionRows)
async def show_positions(
    model: ModelName, services: SharedServices, n: Annotated[int, Query(ge=1, le=1024)] = 64
) -> Response:
    """What each of the first `n` positions adds to a source token; null for a model without such rows."""
    return await services.scorer.run(position_rows, services.model(model).translator, n)


def position_rows(flag: CancelFlag, translator: Translator, n: int) -> Response:
    rows = rows_of(translator, n)  # (P, D)
    kind = translator.config.model.placing
    return json_answer({"positions": kind, "rows": None if rows is None else rows.tolist()})


def card(served: ServedModel, services: Services) -> Card:
    """What a client needs to know about a model."""
    info, model = served.translator.info, served.translator.config.model
    frame = served.translator.tokenizers.frame
    return Card(
        name=served.name,
        arch=model.arch,
        source_language=served.source,
        target_language=served.target,
        parameters=int(info.get("parameters", 0)),
        fingerprint=served.fingerprint,
        max_length=int(info["max_length"]),
        positions=model.placing,
        score=model.scoring,
        d_model=model.width,
        kinds=kind_sizes(model),
        decoding=decoding_defaults(served, services),
        limits=services.limits.for_clients(),
        run=served.about.run,
        examples=list(served.about.examples),
        context=served.translator.tokenizers.reads_context,
        source=info["source"],
        image=info.get("image"),
        sentences=info["sentences"],
        confidence=served.translator.is_calibrated,
        lowest_score=served.translator.lowest_score,
        neighbours=has_index(served.translator),
        directions=[DirectionOut(source=one.source, target=one.target) for one in frame.pairs],
        languages=[] if frame.pairs else [code for code, _ in frame.languages],
        members=[member["name"] for member in info.get("members", [])],
    )


def decoding_defaults(served: ServedModel, services: Services) -> dict[str, Any]:
    """How the model searches unless told: as its folder says, within the server's limits."""
    defaults = asdict(served.translator.config.decoding)
    del defaults["batch_tokens"]
    return {**defaults, "max_len": min(defaults["max_len"], services.limits.new_tokens)}
