"""The page of a search: what stands in it, and what a browser makes of it."""

import html.parser
import itertools
import json
import re
from pathlib import Path

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.report import write_search_report
from edgeperf.report.search_page import render
from tests.report.documents import document, point

CHROMIUM = Path("/usr/bin/chromium")


def written(folder, content, evaluated=""):
    (folder / "front.json").write_text(json.dumps(content))
    if evaluated:
        (folder / "evaluated.csv").write_text(evaluated)
    return write_search_report(folder)


def visible(page):
    return re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)


def test_every_point_stands_in_the_table_with_values_units_and_intervals():
    page = visible(render(document(), {"latency_ms@jetson-tx2": [1.0]}))
    for number in range(9):
        assert f'data-network="net-{number}"' in page
    assert "4.00" in page
    assert "3.60 \N{EN DASH} 4.40" in page
    assert "<span>ms</span>" in page


def test_the_errors_behind_the_numbers_are_stated():
    card = {"device": "jetson-tx2", "metric": "latency_ms", "algorithm": "physical", "rows": 1200, "models": 80,
            "data": "made up", "cite": "Somebody 2020", "meaning": "mean of 100 runs",
            "cv_mape": {"model": 4.2, "input_size": 2.1}}  # fmt: skip
    page = visible(render(document(surrogates=[card]), {"latency_ms@jetson-tx2": [1.0]}))
    assert "0.5 points error" in page
    assert "physical" in page
    assert "4.2" in page


def test_a_network_outside_the_range_is_told_apart():
    content = document(3)
    content["points"][1] = point(1, in_range=False)
    page = visible(render(content, {"latency_ms@jetson-tx2": [1.0]}))
    assert page.count("<strong>outside</strong>") == 1


def test_names_cannot_smuggle_markup_in():
    evil = "</script><img src=x onerror=alert(1)>"
    content = document(3)
    content["points"][0] = point(0, network=evil, family_title=evil)
    page = render(content, {"latency_ms@jetson-tx2": [1.0]})
    assert evil not in page


def test_the_page_loads_nothing():
    page = render(document(), {"latency_ms@jetson-tx2": [1.0]})
    assert not re.findall(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["']?(?:https?:)?//""", page)


def test_tags_are_balanced():
    class Balance(html.parser.HTMLParser):
        def __init__(self):
            super().__init__()
            self.open = []

        def handle_starttag(self, tag, _attributes):
            if tag not in ("meta", "input", "br", "link"):
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    for points in (9, 0):
        balance = Balance()
        balance.feed(visible(render(document(points), {"latency_ms@jetson-tx2": [1.0]})))
        assert balance.open == []


def test_without_a_feasible_network_the_page_says_what_is_missed():
    page = visible(render(document(0), {"latency_ms@jetson-tx2": [1.0]}))
    assert "No candidate meets all bounds" in page
    assert "latency_ms&lt;=1: 2" in page


def test_a_folder_without_a_search_is_told(tmp_path):
    with pytest.raises(InvalidInput, match="holds no finished search"):
        write_search_report(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", '{"summary": {}}', "not json"])
def test_a_file_that_is_no_front_is_told(tmp_path, text):
    (tmp_path / "front.json").write_text(text)
    with pytest.raises(InvalidInput, match="is no front"):
        write_search_report(tmp_path)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip("needs Chromium at /usr/bin/chromium")
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--enable-unsafe-swiftshader"]
        opened = started.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        yield opened
        opened.close()


def opened(browser, path):
    page = browser.new_page()
    page.asked, page.failed = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.failed.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("#plot .gl-canvas, #plot .main-svg")
    return page


@pytest.mark.slow
def test_a_browser_draws_the_front_and_asks_for_nothing(browser, tmp_path):
    page = opened(browser, written(tmp_path, document(), "network,accuracy,latency_ms@jetson-tx2\na,50,3\n"))
    assert page.evaluate("document.getElementById('plot').data.find(t => t.meta === 'front').x.length") == 9
    assert [url for url in page.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.failed == []


@pytest.mark.slow
def test_arrow_keys_walk_along_the_front_and_say_where_they_are(browser, tmp_path):
    page = opened(browser, written(tmp_path, document()))
    said = page.locator("#detail")
    assert "224 px" in said.inner_text()
    page.focus("#plot")
    page.keyboard.press("ArrowRight")
    assert "256 px" in said.inner_text()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "192 px" in said.inner_text()
    assert page.locator("tr.selected").get_attribute("data-network") == "net-3"
    assert page.get_attribute("#detail", "aria-live") == "polite"


@pytest.mark.slow
def test_rows_and_column_heads_work_by_keyboard(browser, tmp_path):
    page = opened(browser, written(tmp_path, document()))
    page.focus("[data-sort=accuracy]")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.locator("#front-table tbody tr").first.get_attribute("data-network") == "net-8"
    assert page.locator("th[aria-sort=descending]").count() == 1
    page.focus("tr[data-network=net-6] th button")
    page.keyboard.press("Enter")
    assert page.locator("tr.selected").get_attribute("data-network") == "net-6"


@pytest.mark.slow
def test_names_of_known_networks_cover_each_other_nowhere_and_follow_the_zoom(browser, tmp_path):
    crowded = [point(3, network=f"Known network {number}", accuracy=61 + number / 50) for number in range(12)]
    page = opened(browser, written(tmp_path, document(references=crowded)))
    boxes = "[...document.querySelectorAll('#plot .annotation-text')].map(e => e.getBoundingClientRect().toJSON())"
    named = page.evaluate(boxes)
    assert len(named) >= 6
    for one, other in itertools.combinations(named, 2):
        apart = one["right"] <= other["left"] or other["right"] <= one["left"]
        assert apart or one["bottom"] <= other["top"] or other["bottom"] <= one["top"]
    page.evaluate("Plotly.relayout('plot', {'xaxis.range': [0.5, 0.6], 'yaxis.range': [61.09, 61.25]})")
    page.wait_for_function("document.querySelectorAll('#plot .annotation-text').length == 7")
    assert page.failed == []


@pytest.mark.slow
@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_figure_can_be_saved(browser, tmp_path, form):
    page = opened(browser, written(tmp_path, document()))
    with page.expect_download() as saving:
        page.click(f"[data-export={form}]")
    content = Path(saving.value.path()).read_bytes()
    assert content[:4] == b"\x89PNG" if form == "png" else b"<svg" in content[:200]


@pytest.mark.slow
def test_ten_thousand_candidates_are_drawn_and_the_page_still_answers(browser, tmp_path):
    rows = "".join(f"n{i},{40 + i % 37},{1 + i % 101}\n" for i in range(10_000))
    page = opened(browser, written(tmp_path, document(200), "network,accuracy,latency_ms@jetson-tx2\n" + rows))
    assert page.evaluate("document.getElementById('plot').data[0].x.length") == 10_000
    page.focus("#plot")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert page.locator("tr.selected").count() == 1
    assert page.failed == []
