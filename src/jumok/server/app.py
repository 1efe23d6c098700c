"""The application: services, middleware from outside in, and one router for each group of endpoints."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI

from jumok import __version__
from jumok.decoding.translator import Translator
from jumok.server.documents import libre_files
from jumok.server.documents import routes as documents
from jumok.server.gates.middleware import make_middleware
from jumok.server.gates.problems import handle_problems
from jumok.server.pages import health
from jumok.server.pages.openapi import describe
from jumok.server.pages.page import STATIC, page_router, read_static, show_lost
from jumok.server.reload import bring_in
from jumok.server.runs import mistakes
from jumok.server.runs import routes as runs
from jumok.server.services import Services
from jumok.server.settings import ServerSettings
from jumok.server.traces import compare, gradients, steps, what_if
from jumok.server.traces import routes as traces
from jumok.server.trainer import routes as training
from jumok.server.trainer.trainer import Trainer
from jumok.server.translate import corrections, libretranslate, models
from jumok.server.translate import routes as translate

ROUTERS = (
    models.router,
    translate.router,
    corrections.router,
    traces.router,
    what_if.router,
    steps.router,
    gradients.router,
    compare.router,
    runs.router,
    mistakes.router,
    documents.router,
    training.router,
    libretranslate.router,
    libre_files.router,
    health.router,
)
"""The API. The page comes after it: `GET /translate` is a screen, `POST /translate` an endpoint."""


def build_app(models: Mapping[str, Translator], *, settings: ServerSettings | None = None) -> FastAPI:
    """The server for these models, the first being the default. `app.state.services` is what they share."""
    services = Services(models, settings or ServerSettings())
    if services.settings.trains and services.settings.train_in is not None:
        services.trainer = Trainer(services.settings.train_in, partial(bring_in, services))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        if services.trainer is not None:
            await services.trainer.close()
        services.close()

    app = FastAPI(
        title="jumok",
        version=__version__,
        summary="Translation, and every step of it, from sequence-to-sequence models.",
        middleware=make_middleware(services),
        lifespan=lifespan,
        separate_input_output_schemas=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services = services
    handle_problems(app)
    files = read_static(services.settings.static or STATIC)
    for router in (*ROUTERS, page_router(files, services.settings.opened)):
        app.include_router(router)
    show_lost(app, files["index.html"])
    describe(app)
    return app
