"""HTML in a plain request: tags stay, words are those of the model, alternatives are whole pages."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.conftest import Running, WorkerGate, serving, wait_until
from tests.server.translate.test_libretranslate import speaking

from jumok.decoding.results import Hypothesis, Translation
from jumok.server.settings import ServerSettings
from jumok.server.translate.markup import ranked

PAGE = '<h1>a man</h1>\n<p class="x">the <b>dog</b> sees <code>x = 1</code> a man</p><hr><p>42</p>'


@pytest.fixture(scope="module")
def own() -> Iterator[Running]:
    with serving({"en-ko": speaking("luong", "en", "ko")}, ServerSettings(port=0)) as found:
        yield found


@pytest.fixture(scope="module")
def libre(own: Running) -> Iterator[httpx2.Client]:
    with own.client() as found:
        yield found


def ask(client: httpx2.Client, q: str | list[str], **more: object) -> httpx2.Response:
    return client.post("/translate", json={"q": q, "source": "en", "target": "ko", "format": "html", **more})


def tags_of(page: str) -> list[str]:
    return sorted(re.findall(r"<[^>]*>", page))


def test_tags_stay_and_words_are_translated(libre: httpx2.Client, own: Running) -> None:
    found = ask(libre, PAGE).json()["translatedText"]
    assert tags_of(found) == tags_of(PAGE)
    assert found.endswith("<hr><p>42</p>")
    model = own.services.models["en-ko"].translator
    heading = model.translate("a man", sentences="as-is").text
    assert HTMLText(found).texts[0] == heading
    assert "<code>x = 1</code>" in found


class HTMLText(HTMLParser):
    """The texts of a page, entities resolved."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_text_without_tags_is_translated_as_text(libre: httpx2.Client) -> None:
    plain = ask(libre, "the dog sees a man", format="text").json()["translatedText"]
    assert "".join(HTMLText(ask(libre, "the dog sees a man").json()["translatedText"]).texts) == plain


def test_several_pages_and_whole_alternatives(libre: httpx2.Client) -> None:
    answer = ask(libre, ["<b>a man</b>", "", "<i>42</i>"], alternatives=2).json()
    assert answer["translatedText"][1:] == ["", "<i>42</i>"]
    first, *_ = answer["alternatives"]
    assert 1 <= len(first) <= 2
    assert answer["alternatives"][1:] == [[], []]
    pages = [answer["translatedText"][0], *first]
    assert len(set(pages)) == len(pages)
    assert all(tags_of(page) == ["</b>", "<b>"] for page in pages)


def test_a_form_may_say_html(libre: httpx2.Client) -> None:
    form = {"q": PAGE, "source": "en", "target": "ko", "format": "html"}
    assert libre.post("/translate", data=form).json() == ask(libre, PAGE).json()


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(page=st.text("ab<>/&;!-= \"'p\n", max_size=40))
def test_whatever_is_sent_an_answer_comes(libre: httpx2.Client, page: str) -> None:
    answer = ask(libre, page)
    assert answer.status_code == 200, answer.text
    assert isinstance(answer.json()["translatedText"], str)


def test_the_work_of_a_client_that_left_is_dropped(own: Running) -> None:
    worker = own.services.models["en-ko"].worker
    with WorkerGate(worker) as gate, ThreadPoolExecutor(1) as pool:
        with own.client() as client:
            pool.submit(lambda: pytest.raises(httpx2.HTTPError, ask, client, PAGE))
            wait_until(lambda: worker.busy)
        gate.open()
        wait_until(lambda: not worker.busy)
    with own.client() as client:
        assert ask(client, PAGE).status_code == 200


def test_ranks() -> None:
    others = tuple(Hypothesis(text, 0.0, 0.0, (), finished=True) for text in ("two", "three"))
    answer = Translation("one", 0.0, 0.0, (), finished=True, source="s", alternatives=others)
    assert [ranked(answer, rank).text for rank in range(4)] == ["one", "two", "three", "three"]
    assert ranked(answer, 1).source == "s"
