"""The HTML report of a notice rate in a real browser."""

import pytest

pytestmark = pytest.mark.browser
SECTIONS = ["notice", "by-operator", "by-class", "missed-faults", "enough", "sure", "method"]


def test_every_section_is_there_and_nothing_is_run_or_fetched(opened_notice):
    page = opened_notice()
    assert page.locator("main > section").evaluate_all("all => all.map(one => one.id)") == SECTIONS
    assert all(page.locator(f"#{name} h2").is_visible() for name in SECTIONS)
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_first_screen_has_the_answer_and_the_curve(opened_notice, width, height):
    page = opened_notice(width, height)
    summary = page.locator(".summary").bounding_box()
    assert summary["y"] + summary["height"] < height
    assert page.locator(".decision").is_visible()
    chart = page.locator("#notice figure.chart svg").bounding_box()
    assert chart["width"] > 250
    assert chart["y"] < height
    if width > 1000:
        step = page.locator("#notice pre, #notice code").first.bounding_box()
        assert step["y"] < height


@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_page_scrolls_sideways(opened_notice, width):
    page = opened_notice(width, 844)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(opened_notice, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened_notice(width, 900, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = axe.run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []
