"""The report page in the system's Chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchbook.present import report
from benchbook.present.context import ReportInput
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
import reportinput

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync"]  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    assert path, "no Chromium: run make browser, or name one in the environment variable CHROMIUM"
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def context(tmp_path_factory: pytest.TempPathFactory) -> ReportInput:
    return reportinput.traced(tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="session")
def address(context: ReportInput, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report.render(context), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page at 1,440 pixels; a script error or a request fails the test."""
    yield from opened(browser, address, width=1440)


def opened(browser: Browser, address: str, *, width: int, **options: object) -> Iterator[Page]:
    about = browser.new_context(viewport={"width": width, "height": 900}, **options)
    shown, wrong = about.new_page(), []
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    shown.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith("file:") else None)
    shown.goto(address)
    yield shown
    about.close()
    assert wrong == []
