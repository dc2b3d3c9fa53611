"""The page as a reader uses it: with mouse, keyboard and phone, in light and dark, with and without scripts."""

from __future__ import annotations

import re

import pytest
from benchbook.provenance.trace import lines, trace
from conftest import opened
from playwright.sync_api import expect
from reportinput import material

pytestmark = pytest.mark.browser
TEXT = "row => (row.cells[at].querySelector('[data-address]') ?? row.cells[at]).textContent.trim()"
OPEN = "document.querySelectorAll('details').forEach(fold => fold.open = true)"
CELL = '#table-sweep [data-address="sweep:eager/c8:tpot_mean_ms"]'


def test_a_table_is_sorted_by_number_and_given_back(page):
    table = page.locator("#table-sweep")
    head = table.locator("thead th", has_text="TPOT")
    column = head.evaluate("head => head.cellIndex")

    def shown() -> list[str]:
        return table.locator("tbody tr").evaluate_all(f"(rows, at) => rows.map({TEXT})", column)

    before = shown()
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    numbers = [float(text.replace(",", "")) for text in shown() if text != "\u2013"]
    assert numbers == sorted(numbers) and shown() != before
    head.get_by_role("button").click()
    assert [float(text.replace(",", "")) for text in shown() if text != "\u2013"] == sorted(numbers, reverse=True)
    head.get_by_role("button").press("Enter")
    assert shown() == before and head.get_attribute("aria-sort") is None


def test_missing_values_stay_last_whichever_way(page):
    table = page.locator("#table-run-index, #table-latencies").last
    head = table.locator("thead th", has_text=re.compile("^(TTFT median|Duration)")).first
    column = head.evaluate("head => head.cellIndex")
    page.evaluate(OPEN)
    for _ in range(2):
        head.get_by_role("button").click()
        shown = table.locator("tbody tr").evaluate_all(f"(rows, at) => rows.map({TEXT})", column)
        missing = [text == "\u2013" for text in shown]
        assert any(missing) and missing == sorted(missing)


def test_the_address_of_a_value_on_hover_and_focus_and_gone_on_escape(page):
    tip = page.locator("#tip")
    page.locator(CELL).first.hover()
    expect(tip).to_be_visible()
    assert tip.text_content() == "sweep:eager/c8:tpot_mean_ms"
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    stop = page.locator("#table-sweep [tabindex='0']")
    stop.focus()
    expect(tip).to_be_visible()
    assert stop.get_attribute("aria-describedby") == "tip" and tip.text_content() == stop.get_attribute("data-address")


def test_a_click_shows_what_the_command_prints(page, context):
    shown = material(context)
    asked = ["sweep:eager/c8:tpot_mean_ms", "summary:runs_ok:value"]
    asked += [f"runs:{run}:tpot_mean_ms" for run in context.frames["runs"]["run_id"].iloc[[0, -1]]]
    asked += [f"comparisons:{name}:effect_pct" for name in context.frames["comparisons"]["comparison_id"].iloc[:2]]
    page.evaluate(OPEN)
    for address in asked:
        value = page.locator(f'[data-address="{address}"]').first
        value.click()
        panel = page.locator("#trace-panel")
        expect(panel).to_be_visible()
        labels = panel.locator("dt:not(.group)").all_text_contents()
        texts = panel.locator("dd").all_text_contents()
        assert list(zip(labels, texts, strict=True)) == list(lines(trace(address, shown)))
        page.keyboard.press("Escape")
        expect(panel).to_be_hidden()


def test_the_keyboard_reaches_every_value_of_a_table_by_one_stop(page):
    stops = page.locator("#table-sweep [data-address][tabindex='0']")
    assert stops.count() == 1
    stops.first.focus()
    page.keyboard.press("ArrowRight")
    second = page.evaluate("document.activeElement.dataset.address")
    page.keyboard.press("ArrowDown")
    below = page.evaluate("document.activeElement.dataset.address")
    assert second != below and second.rsplit(":", 1)[1] == below.rsplit(":", 1)[1]
    page.keyboard.press("Enter")
    expect(page.locator("#trace-panel")).to_be_visible()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.address") == below


def test_a_link_to_an_address_shows_the_value(browser, address, context):
    run = context.frames["runs"]["run_id"].iloc[-1]
    for page in opened(browser, f"{address}#at=runs:{run}:tpot_mean_ms", width=1440):
        value = page.locator(".at")
        expect(value).to_be_in_viewport()
        assert value.get_attribute("data-address") == f"runs:{run}:tpot_mean_ms"


def test_the_contents_follow_the_reader(page):
    link = page.locator(".toc a").nth(4)
    link.click()
    expect(link).to_have_attribute("aria-current", "true")
    assert page.locator(".toc a[aria-current]").count() == 1


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_is_wider_than_the_screen(browser, address, width):
    for page in opened(browser, address, width=width):
        page.evaluate(OPEN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        widths = page.locator("caption span").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
        assert max(widths) <= width


def test_the_contents_are_folded_on_a_phone_and_lead_on(browser, address):
    for page in opened(browser, address, width=390, has_touch=True):
        assert not page.locator(".toc ol").is_visible()
        page.locator(".toc summary").tap()
        page.locator(".toc a").last.tap()
        expect(page.locator("section.chapter").last).to_be_in_viewport()
        assert not page.locator(".toc ol").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_figures_stand_out_from_the_ground(browser, address, scheme):
    for page in opened(browser, address, width=1440, color_scheme=scheme):
        lightness = page.evaluate("""() => {
          const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + part / 765, 0);
          const of = (element, what) => light(getComputedStyle(element)[what]);
          return [of(document.documentElement, 'backgroundColor'), of(document.body, 'color'),
                  of(document.querySelector('#figure-sweep svg [style*="fill: #24292f"]'), 'fill'),
                  of(document.querySelector('#figure-sweep svg [style="fill: #ffffff"]'), 'fill')];
        }""")
        ground, text, ink, paper = lightness
        assert abs(ground - text) > 0.6 and abs(paper - ink) > 0.6
        assert (ground < 0.2) == (paper < 0.2) == (scheme == "dark")


def test_without_scripts_every_number_is_there(browser, address, context):
    for page in opened(browser, address, width=1440, java_script_enabled=False):
        assert page.locator(CELL).first.is_visible() and page.locator(".toc a").first.is_visible()
        assert page.locator("button").count() == 0


def test_a_script_that_got_in_would_not_run(browser, address, context, tmp_path):
    from benchbook.present import report

    evil = report.render(context).replace("</footer>", "<script>document.title = 'owned'</script></footer>")
    (tmp_path / "evil.html").write_text(evil, encoding="utf-8")
    shown = browser.new_page()
    shown.goto((tmp_path / "evil.html").as_uri())
    assert shown.title() != "owned"
    shown.close()
