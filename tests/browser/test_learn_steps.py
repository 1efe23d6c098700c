"""The chapters on teacher forcing and on one training step: their figures show what the models compute."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import LIMITS, Open, settings_for
from tests.browser.screens import settled
from tests.server.conftest import serving

from jumok.decoding.translator import Translator
from jumok.explain.free_running import FreeRunning, free_running
from jumok.server.gates.limits import Limits
from jumok.training.by_hand import StepPlan, training_step
from jumok.training.one_step import TrainingStep

TEXT, TARGET = "5 mars 2024 kl. 14:30", "2024-03-05T14:30"


def runs(trio: dict[str, Translator], slip: int, wrong: str) -> dict[str, FreeRunning]:
    found = {arch: model.on_torch("free_running") for arch, model in trio.items()}
    return {arch: free_running(one, TEXT, TARGET, slip=slip, wrong=wrong) for arch, one in found.items()}


def cells(page: Page, row: int) -> list[str]:
    """What the last table of the figure has in a row, its mean loss last."""
    found = page.locator(".runs").last.locator("tbody tr").nth(row).locator("td")
    return found.evaluate_all("nodes => nodes.map(node => (node.querySelector('span') ?? node).textContent)")


def answer(page: Page, said: str) -> None:
    page.locator(".learn-question input[type=text]").fill(said)
    page.keyboard.press("Enter")


@pytest.mark.parametrize(("locale", "right"), [("en-GB", "Right."), ("ko", "맞았습니다.")])
def test_free_running_by_keyboard(
    opening: Open, trio: dict[str, Translator], locale: str, right: str
) -> None:
    page = opening(locale=locale).open("/learn/teacher-forcing")
    place = page.locator(".runs-choose [role=radio][tabindex='0']")
    expect(place).to_have_text("3")
    place.focus()
    page.keyboard.press("ArrowRight")  # the dash after the month
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".runs-choose [aria-checked=true]")).to_have_text("5")
    page.locator(".runs-choose select").select_option("9")
    settled(page)
    expect(page.locator(".runs")).to_have_count(1)  # nothing is told before the prediction
    page.locator(".reveal-ask .chip").nth(1).focus()
    page.keyboard.press("Enter")
    settled(page)
    expect(page.locator(".runs")).to_have_count(2)
    found = runs(trio, 9, "9")
    for row, one in enumerate(found.values()):
        assert one.slipped is not None
        shown = [token.text.strip() or "␣" for token in one.slipped.tokens]
        written = [text for text in cells(page, row) if text]
        assert written == [*shown, f"{one.slipped.loss:.2f}"]
        struck = page.locator(".runs").last.locator("tbody tr").nth(row).locator("td.wrong")
        assert struck.count() == one.slipped.wrong - max(0, 17 - len(shown))
    assert found["rnn"].slipped is not None
    answer(page, str(found["rnn"].slipped.wrong - 1))
    expect(page.locator(".learn-mark b").first).to_have_text(right)


@pytest.fixture(scope="module")
def step(trio: dict[str, Translator]) -> TrainingStep:
    plan = StepPlan(rates=(1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1))
    return training_step(trio["transformer"].on_torch("step"), "03/05/2024", "2024-03-05", plan)


def number_of(text: str) -> float:
    return float(text.replace("−", "-"))


def test_one_step_stage_by_stage(opening: Open, step: TrainingStep) -> None:
    page = opening().open("/learn/training-step")
    panel, following = page.locator("[role=tabpanel]"), page.get_by_role("button", name="Next stage")
    expect(panel).to_contain_text(f"−log p = {step.losses[step.token]:.3f}")
    expect(panel).to_contain_text(f"the mean is {step.loss:.3f}")
    following.click()
    page.get_by_role("button", name="below zero").click()
    settled(page)
    gradient = step["output", "logits"].gradient
    row = panel.locator(".amounts li.on .amount").last
    assert number_of(row.locator("> span").inner_text().split()[-1]) == pytest.approx(
        gradient[step.ids[step.token]], abs=1e-4
    )
    following.click()
    settled(page)
    parts = panel.locator(".amounts .amount > span").all_inner_texts()
    shown = [number_of(part.split()[-1]) for part in parts]
    assert shown[: len(step.ids)] == pytest.approx(step.weight.by_token, abs=1e-4)
    assert sum(shown[:-1]) == pytest.approx(shown[-1], abs=1e-3)
    following.click()
    settled(page)
    weights, scores = step.tensors[-2:]
    head = int(abs(scores.gradient).max(-1).argmax())
    rows = panel.locator(".amounts > li").filter(has=page.locator(".amount")).all()
    found = [
        [number_of(one.split()[-1]) for one in row.locator(".amount > span").all_inner_texts()]
        for row in rows
    ]
    assert [one[0] for one in found] == pytest.approx(weights.values[head], abs=1e-3)
    assert [one[2] for one in found] == pytest.approx(scores.gradient[head], abs=1e-4)
    following.click()
    settled(page)
    lines = panel.locator(".update-lines b").all_inner_texts()
    by_name = {name: number_of(value) for name, value in zip(lines[::2], lines[1::2], strict=True)}
    assert by_name["m"] == pytest.approx(step.weight.m, rel=1e-3)
    assert by_name["v"] == pytest.approx(step.weight.v, rel=1e-3)
    assert by_name["θ′"] == pytest.approx(step.weight.after, abs=1e-4)
    following.click()
    page.get_by_role("button", name="lower", exact=True).click()
    expect(panel).to_contain_text(f"{step.loss:.3f} → {step.loss_after:.3f}")
    losses = [number_of(one.split()[-1]) for one in panel.locator(".amount > span").all_inner_texts()]
    assert losses == pytest.approx([step.loss, *step.rates.values()], abs=0.01)
    expect(panel).to_contain_text("From η = 0.01 on it is higher than before.")
    answer(page, f"{step.weight.before - 0.1 * step.weight.gradient:.3f}")
    expect(page.locator(".learn-mark b").first).to_have_text("Right.")


def test_a_rate_that_is_too_large_and_a_model_without_attention(
    opening: Open, trio: dict[str, Translator]
) -> None:
    page = opening().open("/learn/training-step", m="rnn")
    tabs, panel = page.get_by_role("tab"), page.locator("[role=tabpanel]")
    tabs.nth(3).click()
    expect(panel).to_contain_text("This model has no attention")
    slider = page.get_by_label("Learning rate η")
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator(".slider output").first).to_have_text("1")
    tabs.nth(5).click()
    page.get_by_role("button", name="higher", exact=True).click()
    expect(panel.locator(".reveal-told")).to_contain_text("As you predicted: higher.")
    page.get_by_role("radio", name="AdamW").click()
    tabs.nth(4).click()
    expect(panel.locator(".update-lines > li")).to_have_count(6)  # with the share that is taken off


@pytest.fixture(scope="module")
def other_sites(trio: dict[str, Translator]) -> Iterator[dict[str, str]]:
    """A server whose limit on parameters is below its model's, and one without a model."""
    small = Limits(step_parameters=1000, heartbeat_s=LIMITS.heartbeat_s)
    luong = {"luong": trio["luong"]}
    with serving(luong, settings_for(luong, small)) as one, serving({}, settings_for({})) as none:
        yield {"small": one.url, "none": none.url}


def test_models_that_are_too_large_or_not_there(opening: Open, other_sites: dict[str, str]) -> None:
    page = opening(other_sites["small"]).open("/learn/training-step")
    expect(page.locator(".learn-lack")).to_contain_text("for models of up to 1000")
    page = opening(other_sites["small"], locale="ko").open("/learn/teacher-forcing")
    page.get_by_role("button", name="바로 보기").click()  # one model alone has runs, too
    expect(page.locator(".runs")).to_have_count(2)
    for chapter in ("training-step", "teacher-forcing"):
        page = opening(other_sites["none"]).open(f"/learn/{chapter}")
        expect(page.locator(".learn-lack")).to_contain_text("No model is loaded")
        expect(page.locator(".learn-question")).to_contain_text("cannot be drawn here")
