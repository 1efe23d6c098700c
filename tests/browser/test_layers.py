"""Every tensor of a pass on the page, and the chapters on whole layers: numbers recomputed in NumPy."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from safetensors.numpy import load as load_tensors
from tests.browser.conftest import Open, Watched, settings_for
from tests.browser.screens import KOREAN, settled
from tests.decoding.conftest import COPYING, untrained
from tests.explain.seeing import picture, seeing
from tests.server.conftest import Running, serving

from jumok.config import TransformerConfig
from jumok.decoding.translator import Translator
from jumok.explain.forward import ForwardPass, forward_pass
from jumok.images.patches import PatchReader
from jumok.server.settings import ModelNotes

Array = np.ndarray[Any, Any]
TAB = {"tab": "layers", "s": KOREAN}
OTHER = "5 mars 2024 kl. 14:30"  # the chapter on Luong reads this one


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def close(printed: str, value: float) -> bool:
    """Whether a printed number is this one, to its last digit."""
    digit: float = 10.0 ** -len(printed.partition(".")[2])
    return abs(number(printed) - value) <= 0.51 * digit + 1e-5 * abs(value)


def show(page: Page, place: int, all_: int) -> None:
    """Choose a tensor of the list."""
    page.locator(".layers-list button").nth(place).evaluate("node => node.click()")
    expect(page.locator(".layers-one > .row p").first).to_contain_text(f"{place + 1:,} of {all_:,}")
    settled(page)


def cell_of(values: Array, row: int) -> float:
    """The first number of a row of the matrix that the page draws: of heads the first."""
    grid = values.reshape(-1, values.shape[-1] if values.ndim else 1)
    if values.ndim == 4 and values.shape[1] > 1:
        grid = values[0, 0]
    return float(grid[row if len(grid) > row else 0, 0])


@pytest.mark.parametrize("arch", ["transformer", "luong", "rnn"])
def test_a_tensor_of_each_kind_is_computed_on_the_page(
    web: Watched, trio: dict[str, Translator], arch: str
) -> None:
    page = web.open("/inside", m=arch, **TAB, q=2)
    own = forward_pass(trio[arch], KOREAN, None)
    expect(page.locator(".layers-list button")).to_have_count(len(own.tensors))
    first = {one.how: place for place, one in reversed(list(enumerate(own.tensors)))}
    assert len(first) > 10
    for how, place in sorted(first.items(), key=lambda pair: pair[1]):
        show(page, place, len(own.tensors))
        value = cell_of(own.tensors[place].values, 2)
        if how in ("given", "opaque"):
            expect(page.locator(".inside-sum .inside-line, .inside-sum .sum")).to_have_count(0)
            continue
        printed = page.locator(".inside-sum .inside-line b, .inside-sum .sum .total .num").last.inner_text()
        assert close(printed, value), (how, printed, value)
        for one in page.locator(".inside-sum ol.sum").all():
            parts = [number(text) for text in one.locator("li:not(.total) > .num").all_inner_texts()]
            total = one.locator("li.total > .num").inner_text()
            assert round(sum(parts) - number(total), 9) == 0, how


def test_the_keys_lead_through_and_an_input_is_one_click_away(web: Watched) -> None:
    page = web.open("/inside", m="transformer", **TAB, n=4)
    expect(page.locator(".layers-one")).to_have_attribute("aria-label", "+ positions")
    page.keyboard.press(".")
    expect(page.locator(".layers-one")).to_have_attribute("aria-label", "W_Q")
    page.keyboard.press(",")
    page.locator(".inside-sum .chip").first.click()
    expect(page.locator(".layers-one")).to_have_attribute("aria-label", "embedding · √D")
    page.go_back()
    expect(page.locator(".layers-one")).to_have_attribute("aria-label", "+ positions")


def test_in_korean_and_on_a_phone(opening: Open) -> None:
    page = opening(locale="ko-KR", viewport={"width": 390, "height": 844}).open(
        "/inside", m="transformer", **TAB, n=28
    )
    settled(page)
    expect(page.locator(".layers-one")).to_have_attribute("aria-label", "정규화")
    expect(page.locator(".layers-list summary").nth(2)).to_contain_text("인코더 1층")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


LARGE = TransformerConfig(width=64, heads=16, feedforward=64, encoder_layers=12, decoder_layers=12)
MANY = 21
READER = PatchReader(32, 8)


@pytest.fixture(scope="module")
def odd(trio: dict[str, Translator]) -> Iterator[Running]:
    """A server with a large model, one that copies, and one that sees."""
    loaded = untrained(LARGE)
    wide = replace(loaded.config, data=replace(loaded.config.data, max_length=200))
    models = {
        "large": Translator(replace(loaded, config=wide)),
        "copying": Translator(untrained(COPYING)),
        "seeing": seeing("transformer"),
    }
    shown = READER.decode(READER.encode(picture(1)))
    about = {name: ModelNotes(examples=(shown if name == "seeing" else "a man",)) for name in models}
    with serving(models, settings_for(models, about=about)) as found:
        yield found


def test_twelve_layers_of_sixteen_heads_with_many_tokens(opening: Open, odd: Running) -> None:
    text = " ".join(["a man sees two dogs"] * MANY)
    with odd.client() as client:
        made = client.post("/v1/trace", json={"model": "large", "text": text, "target": text}).json()
    sides = [len(made[side]["tokens"]) for side in ("source", "target")]
    assert min(sides) > 110
    page = opening(url=odd.url).open("/inside", m="large", s=text, t=text, tab="layers", n=17)
    expect(page.locator(".layers-list summary")).to_have_count(12 + 12 + 6)
    settled(page)
    expect(page.locator(".layers-one select option")).to_have_count(16)
    expect(page.locator(".layers-one .heatmap-grid")).to_have_attribute("aria-rowcount", str(sides[0]))
    all_ = page.locator(".layers-list button").count()
    show(page, all_ - 5, all_)  # the logits
    expect(page.locator(".layers-one .heatmap-grid")).to_have_attribute("aria-rowcount", str(sides[1]))


@pytest.mark.parametrize(("name", "first"), [("copying", "ids"), ("seeing", "patches")])
def test_models_that_copy_or_see(opening: Open, odd: Running, name: str, first: str) -> None:
    given = {"m": name, "tab": "layers", "n": 0} | ({"s": "a man"} if name == "copying" else {})
    page = opening(url=odd.url).open("/inside", **given)
    expect(page.locator(".layers-one")).to_have_attribute("aria-label", first)
    settled(page)
    all_ = page.locator(".layers-list button").count()
    show(page, all_ - 1, all_)
    expect(page.locator(".layers-number")).to_be_visible()
    expect(page.locator("main [role=alert]")).to_have_count(0)


def test_a_changed_model_and_a_file_say_that_they_have_no_layers(
    browser: Browser, opening: Open, site: Running, tmp_path: Any
) -> None:
    web = opening()
    web.allow("422")
    mask = "W3sib3AiOiJtYXNrX2hlYWQiLCJraW5kIjoiY3Jvc3MiLCJsYXllciI6MCwiaGVhZCI6MH1d"
    page = web.open("/inside", m="transformer", **TAB, w=mask)
    expect(page.locator(".state h2")).to_contain_text("The layers show the model as it is")
    with site.client() as client:
        id = client.post("/v1/trace", json={"model": "transformer", "text": KOREAN}).json()["id"]
        (tmp_path / "one.html").write_bytes(client.get(f"/v1/traces/{id}/html").content)
    context = browser.new_context(offline=True, locale="en-GB")
    file = context.new_page()
    file.goto((tmp_path / "one.html").as_uri() + "#/inside")
    file.get_by_role("link", name="Inside").first.click()
    file.get_by_role("tab", name="Layers").click()
    expect(file.locator(".state h2")).to_contain_text("no model: it cannot compute the layers")
    context.close()


# The chapters


@pytest.fixture(scope="module")
def deep(trio: dict[str, Translator]) -> ForwardPass:
    return forward_pass(trio["transformer"], KOREAN, None)


def answered(page: Page, answer: str) -> str:
    """What the page says to an answer of the chapter's question."""
    expect(page.locator(".learn-question form")).to_be_visible()
    page.locator(".learn-question input").fill(answer)
    page.locator(".learn-question button[type=submit]").click()
    expect(page.locator(".learn-mark p")).to_be_visible()
    return page.locator(".learn-mark").inner_text()


def asked(page: Page) -> str:
    return page.locator(".learn-question form > p").inner_text()


def predicted(page: Page) -> str:
    """What a prediction comes to."""
    page.locator(".reveal-ask .btn").first.click()
    expect(page.locator(".reveal-told").first).not_to_be_empty()
    return page.locator(".reveal-told").first.inner_text()


def test_the_chapter_on_embeddings(web: Watched, deep: ForwardPass) -> None:
    page = web.open("/learn/embedding")
    ids = deep["source", "ids"][0].tolist()
    a = next(i for i, id in enumerate(ids) if ids.index(id) < i)  # the second of a pair
    told = predicted(page)
    for name in ("embedding · √D", "+ positions"):
        x = deep["encoder", name][0]
        assert f"{np.linalg.norm(x[a] - x[ids.index(ids[a])]):.2f}" in told
    table = deep["encoder", "W_emb"]
    np.testing.assert_allclose(
        np.eye(len(table))[ids] @ table * 8, deep["encoder", "embedding · √D"][0], atol=1e-5
    )
    assert f"{len(table)} rows of {table.shape[1]} numbers" in asked(page)
    assert f"{table.size} products" in asked(page)
    assert "Right." in answered(page, str(table.shape[1]))


def test_the_chapter_on_an_encoder_layer(web: Watched, deep: ForwardPass) -> None:
    page = web.open("/learn/encoder-layer")
    layer, token = "encoder layer 1", len(deep["source", "ids"][0]) // 3
    h = deep[layer, "FFN: h = max(0, x W_1 + b_1)"][0, token]
    assert f"{(h == 0).sum()} of {len(h)}" in predicted(page)
    x = deep[layer, "self-attention: add, x + f(x)"][0, token]
    at = np.abs(x - x.mean()).argmax()
    for value in (x[at], x.mean(), x.var()):
        assert f"{value:.3f}".replace("-", "−") in asked(page)
    assert "Right." in answered(page, f"{(x[at] - x.mean()) / np.sqrt(x.var() + 1e-5):.2f}")
    settled(page)
    steps = int(page.locator(".passage output").first.inner_text().partition("/ ")[2])
    made = [one for one in deep if one.stage == layer and one.how != "given"]
    assert steps == len(made) + 1  # and what the layer reads
    page.locator(".passage .inside-play button").nth(1).click()
    settled(page)
    Q = deep[layer, "self-attention: Q"][0, 0, token]
    assert close(page.locator(".passage-sum .inside-line b").last.inner_text(), float(Q[0]))


def test_the_chapter_on_a_decoder_layer(web: Watched, deep: ForwardPass, site: Running) -> None:
    page = web.open("/learn/decoder-layer")
    T = len(deep["target", "ids, shifted right"][0])
    assert f"{T * T} pairs" in asked(page)
    assert "Right." in answered(page, str(sum(range(1, T + 1))))
    told = predicted(page)
    assert "no, they are the same" in told
    found = re.search(r"The largest difference is ([\d.]+(?:e−\d+)?)", told)
    assert found is not None
    # what W_out multiplies at step 5, of the whole answer and of its first four tokens
    rows = [last_rows(site, target)[4] for target in (deep.target, deep.target[:4])]
    most = float(np.abs(rows[0] - rows[1]).max())
    assert most < 1e-4
    assert number(found[1].replace("e−", "e-")) == pytest.approx(most, abs=1e-5)


def last_rows(site: Running, target: str) -> Array:
    with site.client() as client:
        body = {"model": "transformer", "text": KOREAN, "target": target}
        found = client.post("/v1/forward", json=body).raise_for_status().json()
        logits = next(one for one in found["tensors"] if one["operation"] == "logits")
        need = f"forward.tensor:{logits['inputs'][0]}"
        data = client.get(f"/v1/traces/{found['id']}/tensors", params={"need": need}).content
    return np.asarray(load_tensors(data)[need][0])


def test_the_chapter_on_luong_to_the_end(web: Watched, trio: dict[str, Translator]) -> None:
    own = forward_pass(trio["luong"], OTHER, None)
    page = web.open("/learn/luong-to-the-end")
    both, W_c, W_out = own["attention", "[c_t; s_t]"][0], own["attention", "W_c"], own["output", "W_out"]
    written, D = own["output", "y, the right ids"][0], len(W_c) // 2
    kept = []
    for half in (slice(0, D), slice(D, None)):
        less = both.copy()
        less[:, half] = 0
        kept.append(int(((np.tanh(less @ W_c) @ W_out).argmax(-1) == written).sum()))
    told = predicted(page)
    assert f"Without c {kept[0]} of {len(written)} tokens" in told
    assert f"without s {kept[1]} of {len(written)}" in told
    z = (both @ W_c)[len(written) // 2]
    at = np.abs(np.abs(z) - 1).argmin()
    assert f"number {at + 1} of the {D}" in asked(page)
    assert f"{z[at]:.3f}".replace("-", "−") in asked(page)
    assert "Right." in answered(page, f"{np.tanh(z[at]):.2f}")
