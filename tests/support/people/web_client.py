"""Requests to the pages as programs send them, for tests."""

from __future__ import annotations

from urllib.parse import urlencode

import httpx2

from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from support.deployments.proxied import LONG
from support.people.web import Web

FORM = "application/x-www-form-urlencoded"


class Person:
    """What a browser of the person could send: its cookie, its host, its origin; each can be left out."""

    def __init__(self, running: Web) -> None:
        self.running = running
        self.base = f"http://127.0.0.1:{running.port}"
        self.host = {"host": running.host}
        self.own = {**self.host, "origin": running.origin}
        with running.uses_code():
            answer = self.post("/enter", {"code": running.code}, self.own)
            assert answer.status_code == 303, answer.text
        self.set_cookie = answer.headers["set-cookie"]
        self.cookie = {"cookie": self.set_cookie.partition(";")[0]}

    def get(self, path: str, headers: dict[str, str] | None = None) -> httpx2.Response:
        sent = {**self.host, **self.cookie, **(headers or {})}
        return httpx2.get(self.base + path, headers=sent, timeout=LONG)

    def post(self, path: str, fields: dict[str, str], headers: dict[str, str]) -> httpx2.Response:
        content, sent = urlencode(fields), {"content-type": FORM, **headers}
        return httpx2.post(self.base + path, content=content, headers=sent, timeout=LONG)

    def approval(self, request: ApprovalRequest) -> dict[str, str]:
        page = self.get(f"/approvals/{request.id}").text
        fields = {"answer": "approve", "read": "yes"}
        for name in ("form-token", "shown"):
            fields[name] = page.split(f'name="{name}" value="')[-1].partition('"')[0]
        return fields
