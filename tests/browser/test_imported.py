"""Models of other programs in the explorer: a BART and a T5, imported from what transformers wrote."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Open, Watched, settings_for
from tests.browser.screens import ready
from tests.browser.test_arithmetic import number, tensors
from tests.importing.families import MAKERS
from tests.server.conftest import Running, serving

from jumok.importing.model import import_model
from jumok.model import load

pytest.importorskip("transformers")
TEXT = "a glossary of terms"


@pytest.fixture(scope="module")
def abroad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with both."""
    models = {}
    for name in ("bart", "t5"):
        theirs, ours = tmp_path_factory.mktemp(name), tmp_path_factory.mktemp("ours") / name
        import_model(MAKERS[name](theirs), ours)
        models[name] = load(ours)
    with serving(models, settings_for(models)) as found:
        yield found


@pytest.fixture
def seen(opening: Open, abroad: Running) -> Watched:
    return opening(url=abroad.url)


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_an_imported_model_has_its_screens(seen: Watched, name: str) -> None:
    for screen in ("translate", "map", "attention", "inside", "beam"):
        page = seen.open(f"/{screen}", m=name, s=TEXT)
        ready(page, screen)
        expect(page.locator("main [role=alert], .banner")).to_have_count(0)


def test_what_relative_positions_add_is_a_stage_of_its_own(seen: Watched, abroad: Running) -> None:
    page = seen.open("/inside", m="t5", s=TEXT, k="enc_self", stage="7", l=1, h=1, q=2, j=1)
    ready(page, "inside")
    step = page.locator(".inside-steps [aria-current=step]")
    expect(step).to_contain_text("Distance")
    expect(page.locator(".inside-panels")).to_contain_text("Bias by distance")
    own = tensors(abroad, "t5", "enc_self.scaled:0.0", "enc_self.bias:0.0", text=TEXT)
    assert own["bias"][2, 1] != 0
    shown = number(step.inner_text().split("\n")[-1])
    assert shown == pytest.approx(own["scaled"][2, 1] + own["bias"][2, 1], abs=1e-3)
    page = seen.open("/inside", m="bart", s=TEXT, k="enc_self")
    ready(page, "inside")
    expect(page.locator(".inside-steps")).not_to_contain_text("Distance")
