"""A browser over an ASGI application: it keeps cookies, and sends the headers that pages cannot set. No sockets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

Message = dict[str, Any]


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    text: str

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)

    @property
    def token(self) -> str:
        """The token of the first form."""
        found = re.search(r'name="token" value="([^"]*)"', self.text)
        assert found is not None, self.text
        return found[1]


@dataclass
class Browser:
    """One person's."""

    application: Any
    cookies: dict[str, str] = field(default_factory=dict)
    address: str = "10.0.0.9"
    site: str | None = "same-origin"
    """What Sec-Fetch-Site says; None: nothing."""
    set_cookies: list[str] = field(default_factory=list)
    """As they came."""

    async def get(self, address: str, **headers: str) -> Answer:
        return await self.send("GET", address, {"accept": "text/html"} | headers)

    async def post(self, address: str, fields: Mapping[str, str], **headers: str) -> Answer:
        sent = {"content-type": "application/x-www-form-urlencoded"}
        if self.site is not None:
            sent["sec-fetch-site"] = self.site
        return await self.send("POST", address, sent | headers, [urlencode(fields).encode()])

    async def send(
        self,
        method: str,
        address: str,
        headers: Mapping[str, str],
        body: Sequence[bytes] = (b"",),
    ) -> Answer:
        path, _, query = address.partition("?")
        sent: list[Message] = []
        pieces = [
            {"type": "http.request", "body": piece, "more_body": number < len(body) - 1}
            for number, piece in enumerate(body)
        ]

        async def receive() -> Message:
            return pieces.pop(0) if pieces else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        every = {"host": "console.example", **headers} | ({"cookie": cookie} if cookie else {})
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "https",
            "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in every.items()],
            "client": (self.address, 1), "server": ("console.example", 443),
        }  # fmt: skip
        await self.application(scope, receive, send)
        told = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
        for name, value in told:
            if name == "set-cookie":
                self._take(value)
        text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
        return Answer(sent[0]["status"], told, text)

    def _take(self, cookie: str) -> None:
        self.set_cookies.append(cookie)
        name, _, value = cookie.partition(";")[0].partition("=")
        if "Max-Age=0" in cookie:
            self.cookies.pop(name, None)
        else:
            self.cookies[name] = value
