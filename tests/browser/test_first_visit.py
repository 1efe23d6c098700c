"""What someone sees who comes for the first time: where to begin, what is wrong, and what can be touched."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, Watched
from tests.browser.screens import ISO, KOREAN, ready, settled, wait_for

PHONE = {"width": 390, "height": 844}
LONG = "from Tuesday, May 23, 1972 at 6:20:17 PM to Monday, December 4, 1972 at 10:22:44 PM"


def answers(page: Page) -> list[str]:
    """What the bar above the screen shows of the model as it is and as it is changed."""
    sides = page.locator(".pin-side")
    expect(sides).to_have_count(2)
    expect(sides.last).not_to_have_text(re.compile("^.{0,16}$"))
    return [sides.nth(n).inner_text().split("\n", 1)[-1] for n in range(2)]


@pytest.mark.parametrize("arch", ["transformer", "rnn"])
def test_three_ways_to_begin(opening: Open, arch: str) -> None:
    page = opening().open("/", m=arch)
    ready(page, "translate")
    start = page.get_by_role("region", name="Start here")
    for name in ("See it look", "Break it", "Learn"):
        expect(start.get_by_role("link", name=name)).to_be_visible()
    start.get_by_role("link", name="Break it").click()
    before, after = answers(page)
    assert before == ISO != after
    expect(start).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    settled(page)
    expect(page.locator(".translate-text")).to_have_text(ISO)
    page.go_back()
    page.go_back()
    start.get_by_role("button", name="Close").click()
    page.reload()
    ready(page, "translate")
    expect(start).to_have_count(0)


def test_the_tour_passes_the_screens_and_can_be_left_at_any_point(opening: Open) -> None:
    page = opening().open("/")
    ready(page, "translate")
    page.get_by_role("button", name="Tour").click()
    tour = page.locator(".tour")
    for screen in ("translate", "translate", "attention", "inside", "translate", "compare"):
        expect(page).to_have_url(re.compile(f"/{screen}\\b"))
        ready(page, screen)
        expect(tour.get_by_role("button", name="Leave the tour")).to_be_visible()
        if screen != "compare":
            tour.get_by_role("button", name="Next", exact=True).click()
    tour.get_by_role("button", name="Back").click()
    before, after = answers(page)
    assert before != after
    tour.get_by_role("button", name="Leave the tour").click()
    expect(tour).to_have_count(0)
    wait_for(page, tour=None, w=None)


def test_a_text_that_the_model_cannot_know_is_said_so(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s="나는 어제 영화를 봤다.")
    expect(page.locator(".strange")).to_contain_text("8 of 10 characters never occurred in its training")
    expect(page.locator(".strange")).to_contain_text("dates")
    expect(page.locator(".translate-text")).to_have_text("no answer")
    web.open("/translate", m="transformer", s=KOREAN)
    ready(page, "translate")
    expect(page.locator(".strange")).to_have_count(0)


NOVEL = "never stood together in training"


def test_known_characters_that_never_stood_together_are_said_so(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s="sett reim lade 0291 nus")
    strange = page.locator(".strange")
    expect(strange).to_contain_text(NOVEL)
    expect(strange).not_to_contain_text("characters never occurred")
    expect(strange).to_contain_text("It was trained on dates and knows nothing else.")
    for good in ("den 5 mars 2024 kl. 14:30", LONG, "5. März 2024"):
        page.get_by_label("Source text").fill(good)
        expect(page.locator(".translate-text")).to_have_text(re.compile(r"^(2024-03-05|1972-05-23)"))
        settled(page)
        expect(strange).to_have_count(0)


def test_strange_text_is_told_in_korean_on_a_phone(opening: Open) -> None:
    page = opening(viewport=PHONE, locale="ko-KR").open(m="luong", s="sett reim lade 0291 nus")
    expect(page.locator(".strange")).to_contain_text("학습할 때 함께 나온 적이 없습니다")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"


def test_an_example_is_one_step_back_in_the_history(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s=KOREAN)
    ready(page, "translate")
    page.locator(".translate-source .chip", has_text="mars").click()
    expect(page.locator(".translate-text")).to_have_text("2024-03-05T14:30")
    page.go_back()
    expect(page.locator(".translate-text")).to_have_text(ISO)


def test_after_an_error_no_answer_of_another_text_stands_there(web: Watched) -> None:
    web.allow("status of 500")
    page = web.open("/translate", m="transformer", s=KOREAN)
    expect(page.locator(".translate-text")).to_have_text(ISO)
    page.route("**/v1/translate/stream", lambda route: route.fulfill(status=500, json={"code": "internal"}))
    page.get_by_label("Source text").fill("5. März 2024")
    expect(page.locator("main [role=alert]")).to_be_visible()
    expect(page.locator(".translate-text")).not_to_contain_text("1998")


@pytest.mark.parametrize("size", [PHONE, {"width": 1440, "height": 900}])
def test_ribbons_stay_however_long_the_text(opening: Open, size: dict[str, int]) -> None:
    page = opening(viewport=size).open("/translate", m="transformer", s=LONG)
    ready(page, "translate")
    expect(page.locator(".ribbons path:not(.hit)").first).to_be_attached()
    tops = (
        page.locator(".strips .tokens")
        .first.locator(".token")
        .evaluate_all("all => new Set(all.map(one => Math.round(one.getBoundingClientRect().top))).size")
    )
    assert tops == 1, "the strip wraps"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"


@pytest.mark.parametrize("screen", ["attention", "map", "inside", "beam", "compare"])
def test_a_long_text_says_which_sentence_is_shown(web: Watched, screen: str) -> None:
    page = web.open(f"/{screen}", m="transformer", s=f"{KOREAN}\n5. März 2024")
    ready(page, screen)
    pick = page.locator(".sentence-pick")
    expect(pick).to_contain_text("Sentence 1 of 2")
    pick.get_by_role("button", name="Next sentence").click()
    expect(pick).to_contain_text("5. März 2024")
    wait_for(page, i="1")


def test_a_head_is_silenced_and_brought_back_where_it_is_drawn(web: Watched) -> None:
    page = web.open("/attention", m="transformer", s=KOREAN, l=2, h=2)
    ready(page, "attention")
    head = page.get_by_role("option", name=re.compile("layer 2, head 2"))
    page.get_by_role("listbox", name="Heads").press("s")
    expect(head).to_have_accessible_name(re.compile("silenced"))
    expect(page.get_by_role("heading", name="Layer 2, head 2, silenced")).to_be_visible()
    head.hover()
    head.locator("[data-silence]").click()
    expect(head).not_to_have_accessible_name(re.compile("silenced"))
    wait_for(page, w=None)


def test_what_if_opens_on_what_is_looked_at(web: Watched) -> None:
    page = web.open("/attention", m="transformer", s=KOREAN, l=2, h=2)
    ready(page, "attention")
    page.keyboard.press("w")
    drawer = page.locator(".drawer")
    drawer.get_by_role("button", name="Change something").click()
    page.get_by_role("menuitem", name="Silence a head").click()
    expect(drawer.get_by_label("Layer")).to_have_value("1")
    expect(drawer.get_by_label("Head")).to_have_value("1")


def test_a_ribbon_is_cut_by_a_click_and_undone(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s=KOREAN)
    ready(page, "translate")
    page.locator(".ribbons .hit").first.dispatch_event("click")
    bar = page.locator(".edit-bar")
    expect(bar).to_contain_text("Cut a link")
    bar.get_by_role("button", name="Undo").click()
    wait_for(page, w=None)


def test_an_address_that_leads_nowhere_says_so(web: Watched) -> None:
    web.allow("status of 404")
    page = web.open("/nonsense/1")
    expect(page.get_by_text("There is nothing at this address")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Translate").click()
    ready(page, "translate")


def test_a_phone_has_words_under_its_icons_and_the_rest_behind_one(opening: Open) -> None:
    page = opening(viewport=PHONE).open("/translate", m="transformer", s=KOREAN)
    ready(page, "translate")
    rail = page.get_by_role("navigation", name="Screens")
    for name in ("Translate", "Attention", "Compare", "Learn"):
        assert rail.get_by_text(name, exact=True).evaluate("node => node.clientWidth") > 20
    expect(rail.get_by_role("link", name="Chat")).to_have_count(0)
    rail.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Inside").click()
    ready(page, "inside")
    steps, reckoning = (page.locator(one).first.bounding_box() for one in (".inside-steps", ".inside-sum"))
    assert steps
    assert reckoning
    assert 0 < reckoning["y"] - steps["y"] - steps["height"] < 100


def test_a_low_window_is_left_to_what_it_shows(opening: Open) -> None:
    page = opening(viewport={"width": 360, "height": 225}).open("/translate", m="transformer", s=KOREAN)
    ready(page, "translate")
    for bar in (".topbar", ".rail"):
        assert page.locator(bar).evaluate("node => getComputedStyle(node).position") == "static"


def test_pieces_that_differ_in_a_space_look_different(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s=KOREAN, q=0)
    ready(page, "translate")
    shown = page.locator(".candidate bdi").all_inner_texts()
    assert len(set(shown)) == len(shown)
    assert {"␣1", "1"} <= {text.strip() for text in shown}


def test_answers_are_right_or_wrong_with_a_reference_and_none_is_scolded_without(web: Watched) -> None:
    page = web.open("/compare", s=KOREAN, ref="1998-03-25")
    ready(page, "compare")
    expect(page.locator(".compare-column .badge")).to_have_text(["wrong"] * 3)
    web.open("/compare", s=KOREAN, ref=ISO)
    expect(page.locator(".compare-column .badge")).to_have_text(["right"] * 3)
    web.open("/compare", s=KOREAN)
    ready(page, "compare")
    expect(page.locator(".compare-column .badge")).to_have_count(0)


def test_whole_dates_with_true_answers_grow_and_lead_to_one_that_goes_wrong(web: Watched) -> None:
    page = web.open("/compare", s=KOREAN)
    ready(page, "compare")
    figure = page.get_by_role("figure", name="Grow the date")
    figure.get_by_role("button", name="Show as a table").click()
    head = figure.get_by_role("columnheader").all_inner_texts()
    rows = [row.locator("th, td").all_inner_texts() for row in figure.locator("tbody tr").all()]
    place = {name: head.index(name) for name in ("Reference", "rnn", "luong", "transformer")}
    assert all(re.fullmatch(r"[\dT:/-]{10,39}", row[place["Reference"]]) for row in rows)  # none is cut off

    def right(model: str, some: list[list[str]]) -> float:
        return sum(row[place[model]] == row[place["Reference"]] for row in some) / len(some)

    assert right("transformer", rows) > 0.9
    longest = [row for row in rows if row[0] == rows[-1][0]]
    assert right("rnn", longest) < 0.2 < right("rnn", [row for row in rows if row[0] == rows[0][0]])


def test_an_exported_page_opens_on_the_view_it_came_from(web: Watched) -> None:
    page = web.open("/attention", m="transformer", s=KOREAN, l=1, h=3)
    ready(page, "attention")
    page.keyboard.press("e")
    with page.expect_download() as found:
        page.get_by_role("menuitem", name="one HTML file").click()
    text = found.value.path().read_text(encoding="utf-8")
    start = re.search(r'"start":"([^"]*)"', text)
    assert start
    assert start[1].startswith("/attention?")
    assert "h=3" in start[1]


def neediest(page: Page) -> tuple[str, int, int]:
    """Kind, layer and head, from 1, that the answer needs most, as the table of the sweep says."""
    sweep = page.locator(".whatif-sweep")
    sweep.get_by_role("button", name="Show as a table").click()
    best, least = ("", 0, 0), 0.0
    for row in sweep.locator("tbody tr").all():
        name, *values = row.locator("th, td").all_inner_texts()
        kind, layer = name.rsplit(" ", 1)
        for head, text in enumerate(values, start=1):
            value = float(text.replace("−", "-") or 0)
            if value < least:
                best, least = (kind, int(layer), head), value
    assert least < 0
    return best


def test_the_tasks_of_a_first_visit_can_be_done_by_visible_words(opening: Open) -> None:
    """Translate an own sentence, find what decided a word, silence the head that does it, see the fixed
    vector fail: nothing is used but what can be read on the page. The fifth is in `test_train_page.py`."""
    page = opening().open("/")
    page.get_by_placeholder("Type a date, in any language").fill("3 May 2021")
    expect(page.get_by_role("region", name="Translation")).to_contain_text("2021-05-03")
    settled(page)

    page.get_by_role("button", name="Links from").click()
    page.get_by_role("menuitem", name="influence").or_(
        page.get_by_role("menuitemradio", name="influence")
    ).first.click()
    settled(page)
    page.get_by_role("listbox", name="Translation").get_by_text("5", exact=True).click()
    page.mouse.move(0, 0)
    source = page.get_by_role("listbox", name="Source").locator(".token")
    values = {
        one.locator(".token-text").inner_text(): one.locator(".token-value").inner_text()
        for one in source.all()
    }
    strongest = max(values, key=lambda word: float(values[word].replace("−", "-") or 0))
    assert strongest.replace("␣", "").strip() in "May"  # the month was decided by the name of the month

    page.get_by_role("button", name="What if").click()
    page.get_by_role("button", name="Which heads does this sentence need?").click()
    expect(page.locator(".whatif-sweep .heatmap-grid")).to_be_visible()
    expect(page.locator(".whatif-sweep progress")).to_have_count(0)
    kind, layer, head = neediest(page)
    drawer = page.locator(".drawer")
    drawer.get_by_role("button", name="Change something").click()
    page.get_by_role("menuitem", name="Silence a head").click()
    drawer.locator(".whatif-draft").get_by_label("Kind of attention").select_option(label=kind)
    drawer.locator(".whatif-draft").get_by_label("Layer").select_option(label=f"layer {layer}")
    drawer.locator(".whatif-draft").get_by_label("Head").select_option(label=f"head {head}")
    drawer.get_by_role("button", name="Try it").click()
    expect(drawer.locator(".whatif-outcome")).to_contain_text("The old answer now")
    page.get_by_role("button", name="What if").click()
    page.get_by_role("button", name="Undo").click()
    wait_for(page, w=None)

    page.get_by_role("navigation", name="Screens").get_by_role("link", name="Compare").click()
    ready(page, "compare")
    field = page.get_by_label("Sentence", exact=True)
    field.fill(LONG)
    field.press("Enter")
    columns = page.locator(".compare-column")
    right = "1972-05-23T18:20:17/1972-12-04T22:22:44"
    expect(columns.filter(has_text="Transformer")).to_contain_text(right)
    expect(columns.filter(has_text="RNN, fixed vector")).not_to_contain_text(right)


def test_help_says_what_every_screen_shows(web: Watched) -> None:
    page = web.open("/translate")
    ready(page, "translate")
    rail = [link.inner_text().strip() for link in page.locator("nav.rail a:visible").all()]
    page.keyboard.press("?")
    told = page.get_by_role("dialog").locator("dl").first.locator("dt")
    expect(told.first).to_be_visible()
    assert set(rail) - {"API", "Chat"} == {term.inner_text() for term in told.all()}
