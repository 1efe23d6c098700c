"""The numbers on the page: printed parts add up to printed totals, and those are the model's own tensors."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from safetensors.numpy import load
from tests.browser.conftest import Open, Watched, settings_for
from tests.browser.screens import KOREAN, ready, settled
from tests.explain.conftest import MODELS, Workshop
from tests.server.conftest import Running, serving

NUMBER = re.compile(r"[+−-]?\d[\d,]*\.?\d*")


def numbers(text: str) -> list[float]:
    return [number(found) for found in NUMBER.findall(text)]


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def tensors(site: Running, arch: str, *needs: str, text: str = KOREAN) -> dict[str, np.ndarray[Any, Any]]:
    """Tensors of the trace that the page shows, straight from the server."""
    with site.client() as client:
        id = client.post("/v1/trace", json={"model": arch, "text": text}).raise_for_status().json()["id"]
        found = client.get(f"/v1/traces/{id}/tensors", params={"need": needs}).raise_for_status()
        return {name.split(":")[0].split(".")[1]: value for name, value in load(found.content).items()}


def sums(page: Page) -> list[tuple[list[float], float, str]]:
    """Every sum on the panel: parts, total, and the total as it is printed."""
    found = []
    for one in page.locator(".inside-sum ol.sum").all():
        parts = one.locator("li:not(.total) > .num").all_inner_texts()
        total = one.locator("li.total > .num").inner_text()
        found.append(([number(part) for part in parts], number(total), total))
    return found


def places(text: str) -> int:
    return len(text.partition(".")[2])


CASES = [
    *(("transformer", kind, 1, 2) for kind in ("cross", "enc_self", "dec_self")),
    ("luong", "cross", 1, 1),
]


@pytest.mark.parametrize(("arch", "kind", "layer", "head"), CASES)
def test_every_stage_adds_up_to_the_models_own_number(
    web: Watched, site: Running, arch: str, kind: str, layer: int, head: int
) -> None:
    names = ("scores", "scaled", "mask", "weights", "context", "out")
    at = f":{layer - 1}.{head - 1}"
    own = tensors(site, arch, *(f"{kind}.{name}{at if name != 'out' else f':{layer - 1}'}" for name in names))
    q, k = 3, 2
    page = web.open("/inside", m=arch, s=KOREAN, k=kind, l=layer, h=head, q=q, j=k)
    ready(page, "inside")
    steps = page.locator(".inside-steps li button")
    values = [one.split("\n")[-1] for one in steps.all_inner_texts()]

    ((parts, total, text),) = sums(page)
    assert len(parts) >= 8
    assert round(sum(parts), 6) == total
    assert abs(total - own["scores"][q, k]) <= 0.51 * 10 ** -places(text)
    assert number(values[0]) == pytest.approx(own["scores"][q, k], abs=1e-3)

    page.keyboard.press(".")
    line = page.locator(".inside-sum .inside-line").first
    if arch == "transformer":
        expect(line).to_contain_text("÷")
        score, root, scaled = numbers(line.inner_text())
        assert scaled == pytest.approx(score / root, abs=6e-4)
        assert scaled == pytest.approx(float(own["scaled"][q, k]), abs=6e-4)
    page.keyboard.press(".")
    expect(page.locator(".inside-sum .inside-line")).to_contain_text("+")
    open_ = bool(own["mask"][q, k])
    assert ("−∞" in page.locator(".inside-sum .inside-line").inner_text()) is not open_

    page.keyboard.press(".")
    expect(page.locator(".inside-sum")).to_contain_text("exp")
    ((parts, total, text),) = sums(page)
    assert round(sum(parts), 6) == total
    share = page.locator(".inside-sum .inside-line").last.inner_text()
    exp, whole, weight = numbers(share)
    assert whole == total
    assert weight == pytest.approx(exp / whole, abs=1e-3)
    assert weight == pytest.approx(float(own["weights"][q, k]), abs=1e-3)

    page.keyboard.press(".")
    expect(page.locator(".inside-sum .sum-how").first).to_contain_text("×")
    ((parts, total, text),) = sums(page)
    assert round(sum(parts), 6) == total
    dimension = int(numbers(page.locator(".inside-sum li.total").inner_text())[0]) - 1
    assert abs(total - own["context"][q, dimension]) <= 0.51 * 10 ** -places(text)
    for part, how in zip(
        parts, page.locator(".inside-sum li:not(.rest) .sum-how").all_inner_texts(), strict=False
    ):
        a, b = numbers(how)
        assert a * b == pytest.approx(part, abs=1.1 * 10 ** -places(text))

    page.keyboard.press(".")
    expect(page.locator(".inside-steps [aria-current=step]")).to_contain_text("6")
    settled(page)
    for parts, total, _ in sums(page):
        assert round(sum(parts), 6) == total
    length = numbers(page.locator(".inside-sum .facts dd").last.inner_text())[-1]
    assert length == pytest.approx(float(np.linalg.norm(own["out"][q])), abs=1e-3)


def test_the_row_panel_is_the_row_of_the_tensor(web: Watched, site: Running) -> None:
    own = tensors(site, "transformer", "cross.weights:1.2")["weights"]
    page = web.open("/attention", m="transformer", s=KOREAN, l=2, h=3, q=4, j=1)
    ready(page, "attention")
    row = own[4]
    shown = [number(text) for text in page.locator(".attention-row .bars .num").all_inner_texts()]
    assert shown == pytest.approx(sorted(row, reverse=True)[: len(shown)], abs=6e-4)
    bits = float(-(row * np.log2(np.maximum(row, 1e-12))).sum())
    assert number(
        NUMBER.findall(page.locator(".attention-row .facts dd").first.inner_text())[0]
    ) == pytest.approx(bits, abs=6e-3)


def test_the_card_of_a_cell_says_the_cell(web: Watched, site: Running) -> None:
    """Pointer, keyboard, table and tensor tell the same number."""
    own = tensors(site, "luong", "cross.weights:0.0")["weights"]
    page = web.open("/attention", m="luong", s=KOREAN)
    grid = ready(page, "attention").first
    canvas = grid.locator("canvas").bounding_box()
    assert canvas is not None
    q, k = 5, 3
    width, height = canvas["width"] / own.shape[1], canvas["height"] / own.shape[0]
    page.mouse.move(canvas["x"] + (k + 0.5) * width, canvas["y"] + (q + 0.5) * height)
    told = grid.locator("[role=gridcell]")
    expect(told).to_contain_text("rank")
    rank = int(1 + (own[q] > own[q, k]).sum())
    expect(told).to_contain_text(f"{own[q, k]:.2f}, rank {rank} of {own.shape[1]}")
    page.locator("[data-tool=table]").first.click()
    cell = page.locator("figure table tbody tr").nth(q).locator("td").nth(k)
    assert number(cell.inner_text()) == pytest.approx(float(own[q, k]), abs=5e-4)


def test_confidence_and_candidates_are_the_models(web: Watched, site: Running) -> None:
    with site.client() as client:
        manifest = client.post("/v1/trace", json={"model": "rnn", "text": KOREAN}).json()
    page = web.open("/translate", m="rnn", s=KOREAN, q=2)
    ready(page, "translate")
    shown = page.locator(".candidate .muted").all_inner_texts()
    own = [float(np.exp(one["logprob"])) for one in manifest["steps"][2]["top"]]
    assert len(shown) == len(own)
    for text, p in zip(shown, own, strict=True):
        assert text == ("<1 %" if p < 0.01 else text)
        if p >= 0.01:
            assert numbers(text)[0] == pytest.approx(100 * p, abs=0.6)


@pytest.fixture(scope="module")
def bare() -> Iterator[Running]:
    """A server with a Transformer that does not divide by √d."""
    models = {"bare": Workshop().translator(replace(MODELS["transformer"], scaled=False))}
    with serving(models, settings_for(models)) as found:
        yield found


def test_a_transformer_that_does_not_divide_says_so(opening: Open, bare: Running) -> None:
    page = opening(url=bare.url).open("/inside", m="bare", s="hello", stage="2")
    settled(page)
    expect(page.locator(".inside-sum")).to_contain_text("This model does not scale")
    expect(page.locator(".inside-panels .note")).to_contain_text("trained without the division")
    expect(page.locator(".inside-steps .struck")).to_have_count(1)
    expect(page.locator(".inside-whole math").locator("mfrac")).to_have_count(0)
    expect(page.get_by_role("radio", name="Without scaling")).to_be_disabled()
    before, after = page.locator(".inside-sum .inside-line b").all_inner_texts()
    assert before == after
    page.keyboard.press("w")
    page.locator(".drawer [aria-haspopup=menu]").first.click()
    expect(page.get_by_role("menuitem").first).to_be_visible()
    expect(page.get_by_role("menuitem", name="Leave out ÷√d")).to_have_count(0)
