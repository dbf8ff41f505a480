"""A real browser for pages: the Chromium of this machine, where there is one."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from support.deployments.proxied import LONG

MOST = LONG * 1_000
"""Milliseconds until what is looked for on a page is taken to be missing: a busy machine draws it late."""
expect.set_options(timeout=MOST)
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_QUIET = ("--disable-quic", "--disable-background-networking", "--disable-component-update")


@contextmanager
def browser(*options: str) -> Iterator[Browser]:
    """Start a browser that finds no host but this machine; skip the test where there is no Chromium."""
    program = _program()
    if program is None:
        pytest.skip("no Chromium that starts on this machine: the page is not opened in a browser")
    # What `options` map to this machine comes first: the first rule that fits a name counts.
    rules = [each for each in options if each.startswith("MAP ")]
    others = [each for each in options if each not in rules]
    known = ", ".join([*rules, "MAP * ~NOTFOUND", "EXCLUDE localhost", "EXCLUDE *.localhost"])
    with sync_playwright() as play:
        started = play.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-gpu", *_QUIET, f"--host-resolver-rules={known}", *others],
        )
        try:
            yield started
        finally:
            started.close()


@functools.cache
def _program() -> str | None:
    """Return the browser; a program of its name may only say that another package holds it."""
    found = filter(None, map(shutil.which, _PROGRAMS))
    return next(
        (
            each
            for each in found
            if subprocess.run([each, "--version"], capture_output=True, check=False).returncode == 0
        ),
        None,
    )


@contextmanager
def page(**options: Any) -> Iterator[Page]:
    """Open an empty page that reaches no network."""
    with browser() as started:
        yield started.new_context(offline=True, **options).new_page()
