"""What leaves the page: pictures, tables, files of numbers, and one HTML file that needs no server."""

import csv
import io
import json
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from safetensors.numpy import load
from tests.browser.conftest import Open, Watched
from tests.browser.screens import ARCHS, ISO, KOREAN, ready, settled
from tests.browser.world import HOSTILE
from tests.server.conftest import Running

SVG = "{http://www.w3.org/2000/svg}"


def exported(page: Page, item: str) -> tuple[str, bytes]:
    """Name and content of what an entry of the first figure's export menu gives."""
    page.locator("[data-tool=export]").first.click()
    with page.expect_download() as found:
        page.get_by_role("menuitem", name=item).first.click()
    return found.value.suggested_filename, Path(found.value.path()).read_bytes()


def size_of_png(data: bytes) -> tuple[int, int]:
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data.rstrip(b"\0")[-8:-4] == b"IEND"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


@pytest.mark.parametrize("screen", ["attention", "beam", "quality", "translate"])
def test_pictures_and_tables(web: Watched, screen: str) -> None:
    page = web.open(f"/{screen}", m="transformer", s=KOREAN)
    ready(page, screen)
    name, once = exported(page, "PNG ×1")
    assert name.endswith(".png")
    width, height = size_of_png(once)
    assert size_of_png(exported(page, "PNG ×2")[1]) == (2 * width, 2 * height)
    name, svg = exported(page, "SVG")
    assert name.endswith(".svg")
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert len(list(root.iter(f"{SVG}text"))) > 3  # text stays text
    assert not list(root.iter(f"{SVG}script"))
    assert b"http" not in svg.replace(b"http://www.w3.org", b"")
    name, table = exported(page, "CSV")
    assert name.endswith(".csv")
    rows = list(csv.reader(io.StringIO(table.decode("utf-8-sig"))))
    assert len(rows) > 3
    assert {len(row) for row in rows} == {len(rows[0])}


def test_the_svg_and_the_table_hold_the_weights(web: Watched, site: Running) -> None:
    with site.client() as client:
        id = client.post("/v1/trace", json={"model": "luong", "text": KOREAN}).json()["id"]
        found = client.get(f"/v1/traces/{id}/tensors", params={"need": "cross.weights:0.0"})
    weights = load(found.content)["cross.weights:0.0"]
    page = web.open("/attention", m="luong", s=KOREAN)
    ready(page, "attention")
    rows = list(csv.reader(io.StringIO(exported(page, "CSV")[1].decode("utf-8-sig"))))
    assert [[float(cell) for cell in row[1:]] for row in rows[1:]] == pytest.approx(weights, abs=1e-6)
    cells = [one for one in ET.fromstring(exported(page, "SVG")[1]).iter(f"{SVG}rect") if one.get("fill")]
    assert len(cells) >= weights.size


def test_a_hostile_sentence_in_exports(web: Watched) -> None:
    page = web.open("/attention", m="luong", s=HOSTILE)
    ready(page, "attention")
    root = ET.fromstring(exported(page, "SVG")[1])
    allowed = {f"{SVG}{tag}" for tag in ("svg", "title", "rect", "text", "image", "g")}
    assert {one.tag for one in root.iter()} <= allowed
    rows = list(csv.reader(io.StringIO(exported(page, "CSV")[1].decode("utf-8-sig"))))
    assert all(not cell.startswith(("=", "+", "@")) for cell in rows[0])


def test_numbers_and_alignments(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s=KOREAN)
    ready(page, "translate")
    page.locator("[data-tool=export]").first.click()
    expect(page.get_by_role("menuitem").first).to_be_visible()
    items = page.get_by_role("menuitem").all_inner_texts()
    page.keyboard.press("Escape")
    wanted = [item for item in items if any(kind in item for kind in ("JSON", "harao", "ematus"))]
    found = {item: exported(page, item) for item in wanted}
    assert len(found) >= 3, items
    manifest = next(json.loads(data) for name, data in found.values() if name.endswith(".json"))
    assert manifest["schema"] == "trace/1"
    assert manifest["target"]["text"] == ISO


def offline(browser: Browser, file: Path) -> Watched:
    """A page without any network, on a file."""
    context = browser.new_context(offline=True, locale="en-GB", reduced_motion="reduce")
    page = context.new_page()
    watched = Watched(page, f"file://{file.parent}").watch()
    page.goto(file.as_uri())
    return watched


@pytest.mark.parametrize("arch", ARCHS)
def test_the_html_file_opens_from_disk(browser: Browser, site: Running, tmp_path: Path, arch: str) -> None:
    with site.client() as client:
        id = client.post("/v1/trace", json={"model": arch, "text": KOREAN}).json()["id"]
        answer = client.get(f"/v1/traces/{id}/html").raise_for_status()
    assert "attachment" in answer.headers["content-disposition"]
    file = tmp_path / "movie.html"
    file.write_bytes(answer.content)
    assert len(answer.content) < 2_000_000
    web = offline(browser, file)
    page = web.page
    ready(page, "translate")
    expect(page.locator(".translate-output")).to_contain_text(ISO if arch != "rnn" else "-")
    expect(page.locator("textarea")).to_have_attribute("readonly", "")
    for screen in ("map", "attention", "inside", "beam"):
        page.locator(f"nav.rail a[href^='#/{screen}']").click()
        ready(page, screen)
        expect(page.locator("main [role=alert]")).to_have_count(0)
    page.go_back()
    ready(page, "inside")
    page.context.close()
    web.check()


def test_a_hostile_html_file_runs_nothing(browser: Browser, site: Running, tmp_path: Path) -> None:
    with site.client() as client:
        id = client.post("/v1/trace", json={"model": "luong", "text": HOSTILE}).json()["id"]
        content = client.get(f"/v1/traces/{id}/html").raise_for_status().content
    file = tmp_path / "hostile.html"
    file.write_bytes(content)
    web = offline(browser, file)
    ready(web.page, "translate")
    assert web.page.locator("textarea").input_value() == HOSTILE
    assert "hacked" not in web.page.title()
    assert web.page.locator("main img, main script").count() == 0
    web.page.context.close()
    web.check()


def test_the_page_itself_gives_the_file(web: Watched) -> None:
    page = web.open("/translate", m="luong", s=KOREAN)
    ready(page, "translate")
    settled(page)
    name, content = exported(page, "HTML")
    assert name.endswith(".html")
    assert b"jumok-data" in content


def test_the_table_twin_of_a_large_matrix_is_a_window(opening: Open) -> None:
    web = opening()
    page = web.open("/attention", m="transformer", s="1998년 3월 24일 " * 6, q=50, j=50)
    ready(page, "attention")
    page.locator("[data-tool=table]").first.click()
    rows = page.locator("figure table tbody tr")
    expect(rows.first).to_be_visible()
    assert 0 < rows.count() <= 60
    assert 0 < rows.first.locator("td").count() <= 60
