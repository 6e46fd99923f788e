"""The HTML report in a real browser."""

import pytest

pytestmark = pytest.mark.browser
SECTIONS = [
    "score",
    "survivors",
    "tests",
    "advice",
    "strengthen",
    "selection",
    "suspects",
    "repair",
    "attack",
    "method",
]


def test_every_section_is_there_and_nothing_is_run_or_fetched(opened):
    page = opened()
    assert page.locator("main > section").evaluate_all("all => all.map(one => one.id)") == SECTIONS
    assert all(page.locator(f"#{name} h2").is_visible() for name in SECTIONS)
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").inner_text() == "<script>window.hacked = 1</script>"
    assert page.title().endswith("mutiny report")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_are_drawn(opened, scheme):
    page = opened(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    charts = page.locator("figure.chart")
    assert charts.count() == 2 + 2 * 5 + 2 + 1 + 1 + 1
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for at in range(charts.count()):
        box = charts.nth(at).locator("svg").bounding_box()
        assert box["width"] > 250
        assert box["height"] > 60
        inked = charts.nth(at).evaluate(
            "one => [...one.querySelectorAll('path, use')].filter(p => p.getBoundingClientRect().width > 1).length"
        )
        assert inked >= 4
        colors = charts.nth(at).evaluate("one => [...one.querySelectorAll('text')].map(t => getComputedStyle(t).fill)")
        assert colors
        assert background not in colors
    photos = page.locator(".gallery img")
    assert photos.count() == 12
    assert all(photos.evaluate_all("all => all.map(one => one.naturalWidth === 28 && one.alt.length > 10)"))


def column(page, table, at):
    rows = page.locator(f"#{table} tbody tr:not([hidden])")
    return rows.evaluate_all(f"all => all.map(row => row.cells[{at}].textContent.trim())")


def test_a_table_is_sorted_by_its_titles(opened):
    page = opened()
    title = page.locator("#operators thead button").nth(5)
    before = column(page, "operators", 5)
    title.click()
    assert column(page, "operators", 5) == ["0%", "20%", "40%", "60%", "80%", "\u2013"]
    assert page.locator("#operators th[aria-sort]").evaluate_all("all => all.map(one => one.ariaSort)") == ["ascending"]
    title.press("Enter")  # by keyboard as well
    assert column(page, "operators", 5) == ["80%", "60%", "40%", "20%", "0%", "\u2013"]  # what has none stays last
    assert page.locator("#operators th").nth(5).get_attribute("aria-sort") == "descending"
    page.locator("#operators thead button").first.click()
    assert sorted(before) == sorted(column(page, "operators", 5))
    names = column(page, "operators", 0)
    assert names[1:] == ["GF", "LR", "NEB", "NI(ratio=0.1,layers=features.0.block.conv1)", "WI"]


def test_rows_are_filtered_by_word_and_verdict(opened):
    page = opened()
    page.get_by_text("All 25 mutants judged on the test set").click()
    count = page.locator("[data-filter-count]")
    assert count.inner_text() == "25 rows"
    page.get_by_label("Test verdict").select_option("survived")
    assert set(column(page, "mutants", 1)) == {"▲ survived"}
    assert count.inner_text() == "10 of 25 rows"
    page.get_by_label("Find").fill("gf AT")
    assert count.inner_text() == "2 of 25 rows"
    assert all(name.startswith("GF at factor") for name in column(page, "mutants", 0))
    page.locator("#mutants thead button").nth(4).click()  # sorting keeps what is filtered
    assert len(column(page, "mutants", 0)) == 2
    page.get_by_label("Find").fill("nothing like it")
    assert count.inner_text() == "0 of 25 rows"
    page.get_by_label("Find").fill("")
    page.get_by_label("Test verdict").select_option("")
    assert count.inner_text() == "25 rows"


@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_page_scrolls_sideways(opened, width):
    page = opened(width, 844)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        "width => [...document.querySelectorAll('main *')].filter(one => !one.closest('.scroll, pre, .hidden, svg')"
        " && one.getBoundingClientRect().right > width + 1).map(one => one.outerHTML.slice(0, 80))",
        width,
    )
    assert wide == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(opened, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(width, 900, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = axe.run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []


def test_the_theme_can_be_chosen_and_is_remembered(opened):
    page = opened(color_scheme="light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    button = page.get_by_role("button", name="Dark page")
    button.click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    page.get_by_role("button", name="Light page").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_everything_is_there_without_a_script(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("main > section").count() == len(SECTIONS)
    assert page.locator("#operators tbody tr").count() == 6
    assert not page.locator("#theme").is_visible()
    page.get_by_text("All 25 mutants judged on the test set").click()
    assert page.locator("#mutants tbody tr").first.is_visible()
    assert not page.locator(".tools").first.is_visible()


def test_the_keyboard_reaches_everything(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answers"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    assert outline != "none"


def test_print_is_black_on_white_and_unfolds_everything(opened):
    page = opened(color_scheme="dark")
    folded = page.locator("details:not([open])").count()
    assert folded > 3
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert not page.locator("nav").is_visible()
    assert not page.locator("#theme").is_visible()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator("#mutants tbody tr").first.is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == folded
    assert page.pdf().startswith(b"%PDF")
