"""A real browser for pages: the Chromium of this machine, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def page(**options: Any) -> Iterator[Page]:
    """Open an empty page that reaches no network; skip the test where there is no Chromium."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium on this machine: the page is not opened in a browser")
    quiet = ["--disable-quic", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", *quiet]
        )
        context = browser.new_context(offline=True, **options)
        try:
            yield context.new_page()
        finally:
            browser.close()
