"""Figures of the chapters that state a law: their numbers against a few lines, and what can be done."""

import json
import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, Watched, settings_for
from tests.browser.test_learn import drawn, give, predict, table
from tests.explain.seeing import seeing
from tests.server.conftest import serving

import jumok
from jumok.decoding.translator import Translator
from jumok.images.patches import PatchReader
from jumok.images.read import read_picture


def figures(text: str) -> list[float]:
    """The numbers of a text, exponents and all."""
    plain = text.replace("−", "-")
    return [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", plain)]


def asked_and_told(page: Page) -> tuple[str, str]:
    """The question, and the answer that the page gives away."""
    asked = page.locator(".learn-question form > p").inner_text()
    give(page, "-987654")
    page.get_by_role("button", name="Show the answer").click()
    expect(page.locator(".learn-mark")).to_have_class(re.compile("shown"))
    return asked, page.locator(".learn-mark b").first.inner_text().removesuffix(".")


def test_entropy_falls_without_the_root_and_stays_with_it(web: Watched) -> None:
    page = web.open("/learn/why-scale")
    drawn(page)
    rows = {int(row[0]): (float(row[1]), float(row[2])) for row in table(page)}
    assert list(rows) == [2**n for n in range(11)]
    assert 2.3 < rows[4][0] < 2.9
    assert 0.3 < rows[64][0] < 0.9
    assert rows[1024][0] < 0.3
    assert all(abs(scaled - rows[64][1]) < 0.2 for _, scaled in list(rows.values())[1:])
    assert "right" in (give(page, "Twice as much").get_attribute("class") or "")


def test_the_models_heads_without_the_root(web: Watched) -> None:
    """Mean entropies of the heads as the table has them, from the weights of traces in Python."""
    page = web.open("/learn/why-scale")
    drawn(page)
    shown = table(page, 1)
    model = jumok.load("demo/transformer", "cpu")
    bare = model.edit(*(jumok.no_scale(kind) for kind in ("enc_self", "dec_self", "cross")))
    text = page.evaluate("fetch('/learn.json').then(r => r.json()).then(b => b.texts.short)")
    for column, one in ((1, model), (2, bare)):
        cross = one.trace(text).attention.cross
        assert cross is not None
        terms = cross.weights * np.log2(np.maximum(cross.weights, 1e-30))  # (layers, heads, target, source)
        bits = -terms.sum(-1).mean(-1).flatten()
        assert [float(row[column]) for row in shown] == pytest.approx(bits.tolist(), abs=0.01)
    assert all(float(row[2]) < float(row[1]) for row in shown)


def test_the_first_token_loses_its_gradient_in_a_recurrence_alone(
    web: Watched, trio: dict[str, Translator]
) -> None:
    page = web.open("/learn/gradient-by-distance")
    drawn(page)
    predict(page)
    expect(page.locator(".learn-beside .chart").first.locator("path.line")).to_have_count(
        3
    )  # models are measured in turn
    rows = {int(float(row[0])): [float(one) for one in row[1:]] for row in table(page)}
    assert rows[80][0] < 1e-15 < 1e-4 < min(rows[80][1:])
    asked, told = asked_and_told(page)
    near, short, far, long = figures(asked)[-4:]
    assert (short, long) == (40, 80)
    assert figures(told)[-1] == pytest.approx((far / near) ** (1 / (long - short)), abs=0.01)
    assert rows[80][0] == pytest.approx(far, rel=0.01)


def test_weights_can_be_chosen(opening: Open) -> None:
    page = opening().open("/learn/gradient-by-distance")
    drawn(page)
    predict(page)
    last = '"model":"transformer"'  # one model after the other is asked
    with page.expect_response(lambda answer: last in (answer.request.post_data or "")):
        page.get_by_role("radio", name="trained").click()
    expect(page.locator(".learn-beside")).to_contain_text("The trained weights.")
    expect(page.locator(".stale")).to_have_count(0)
    rows = table(page)
    assert float(rows[-1][1]) > 1e-6  # the LSTM has learned to reach back
    page.locator("figure.figure [data-tool=table]").click()
    predict(page)  # as the table took its place, the prediction is asked for again
    page.get_by_role("radio", name="fresh", exact=True).click()
    page.get_by_role("button", name="Other weights").click()
    expect(page.locator(".learn-beside")).to_contain_text("Weights of seed 1.")


def test_cost_is_measured_on_demand(opening: Open) -> None:
    page = opening().open("/learn/cost")
    drawn(page)
    assert figures(asked_and_told(page)[1])[-1] == 64
    rows = {int(row[0]): [float(one.replace(",", "")) for one in row[1:]] for row in table(page)}
    for n, found in rows.items():
        assert found == pytest.approx([2 * n * n * 64, 2 * n * 64 * 64, 8 * n * 64 * 64], rel=2e-3)
    page.locator("figure.figure [data-tool=table]").click()
    page.get_by_role("radio", name="d = 32").click()
    page.get_by_role("button", name="Measure on this machine").click()
    told = page.locator(".learn-beside p", has_text="From N = 64 to 512")
    expect(told).to_be_visible()
    assert len(figures(told.inner_text())) == 9  # how near to 2, 1 and 1 depends on the machine


def test_shifted_dates_are_read_by_the_model(web: Watched) -> None:
    page = web.open("/learn/positions-past-training")
    drawn(page)
    predict(page)
    told = figures(asked_and_told(page)[1])[-1]
    rows = table(page)
    model = jumok.load("demo/transformer", "cpu")
    with model.edit(jumok.positions("shift", side="source", by=20)) as shifted:
        assert [row[1] for row in rows] == [
            shifted.translate(row[0], beam=1, max_len=24).text for row in rows
        ]
    right = [model.translate(row[0], beam=1).text == row[1] for row in rows]
    assert sum(right) == told == sum(row[2] == "right" for row in rows)
    page.locator("figure.figure [data-tool=table]").click()
    predict(page)
    page.get_by_role("slider", name="Shift by").fill("0")
    expect(page.locator(".shifted .right")).to_have_count(len(rows))


def test_patches_are_those_that_jumok_cuts(web: Watched) -> None:
    page = web.open("/learn/patches")
    drawn(page)
    assert figures(asked_and_told(page)[1])[-1] == (32 / 8) ** 2
    url = page.locator(".picture-tokens img").get_attribute("src")
    assert url is not None
    patches = PatchReader(32, 8).cut(read_picture(url, 32))
    page.locator(".picture-tokens [role=listbox]").focus()
    page.keyboard.press("End")
    expect(page.locator(".learn-beside")).to_contain_text("Patch 16 of 16: row 4, column 4.")
    colours = page.evaluate(
        """async (url) => {
            const image = new Image(); image.src = url; await image.decode();
            const canvas = document.createElement('canvas'); canvas.width = canvas.height = 32;
            const brush = canvas.getContext('2d'); brush.drawImage(image, 0, 0);
            return [...brush.getImageData(24, 24, 8, 8).data].filter((_, i) => i % 4 < 3);
        }""",
        url,
    )
    assert colours == patches[15].tolist()
    page.get_by_role("radio", name="4 px").click()
    expect(page.locator(".picture-tokens .patch")).to_have_count(64)
    expect(page.locator(".learn-question")).to_contain_text("patches of 4 × 4")


def test_a_model_of_pictures_looks_at_patches(opening: Open) -> None:
    models: dict[str, Any] = {"seer": seeing("transformer")}
    with serving(models, settings_for(models)) as gallery:
        page = opening(gallery.url).open("/learn/patches")
        drawn(page)
        expect(page.locator(".learn-beside")).to_contain_text("What “seer” makes of it")
        expect(page.locator(".patches.heated .patch")).to_have_count(16)
        expect(page.locator(".learn-beside")).to_contain_text("that “seer” has learned")


def test_masks_are_counted(web: Watched) -> None:
    page = web.open("/learn/family")
    drawn(page)
    asked, told = asked_and_told(page)
    n, both = (int(one) for one in figures(asked)[:2])
    assert figures(told)[-1] == n * (n + 1) / 2
    manifest = page.evaluate(
        """async () => {
            const book = await (await fetch('/learn.json')).json();
            const body = JSON.stringify({ model: 'transformer', text: book.texts.short });
            const headers = { 'Content-Type': 'application/json' };
            return (await fetch('/v1/trace', { method: 'POST', headers, body })).json();
        }"""
    )
    S, T = len(manifest["source"]["tokens"]), len(manifest["target_in"]["tokens"])
    assert (n, both) == (S + T, S * S + T * S + T * (T + 1) // 2)
    page.get_by_role("radio", name="encoder only").click()
    expect(page.locator("figure [role=status]").first).to_contain_text(f"Pairs in all: {n * n}.")
    page.get_by_role("radio", name="decoder only").click()
    page.get_by_role("slider", name="Token").fill("3")
    expect(page.locator("figure [role=status]").first).to_contain_text(f"sees 3 of {n} tokens")
    expect(page.locator("figure")).to_contain_text("0.00 above the diagonal")
    assert json.dumps(manifest["attention"]["dec_self"]["causal"]) == "true"
