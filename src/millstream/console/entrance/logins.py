"""The pages to log in and out, and the cookie by which a browser is known.

A browser gets a cookie with the form, before it logs in, so that the form can carry a token that fits it; with the
login it gets another one, so that a cookie that somebody has planted is worth nothing. They have two names: a link on
another site leads to the form without the cookies that are there (SameSite=Strict), and the answer must not overwrite
the session. A cookie is an id with a signature: what it stands for is kept here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from millstream.console.entrance.door import Door
from millstream.console.entrance.failed_logins import (
    ADDRESS_WAIT_MAX_MS,
    USER_WAIT_MAX_MS,
    FailedLogins,
)
from millstream.console.entrance.forms import TOKEN, address_of, form_named, read_form
from millstream.console.entrance.refusal_log import RefusalLog
from millstream.console.entrance.sessions import Sessions, Signatures, TooManySessions, is_same
from millstream.console.pages import Pages, Role, Visitor
from millstream.console.rendering import Renderer, page_url
from millstream.errors import BrokerNotAvailable, MillstreamError, SaslAuthenticationFailed
from millstream.quoting import shortened
from millstream.runtime.interfaces import Clock

LOGIN: Final = "/login"
LOGOUT: Final = "/logout"
LOGINS_AT_ONCE_MAX: Final = 8
_LOOK_FOR_ENDED_EVERY_S: Final = 60.0
_LOGGER = logging.getLogger("millstream.console")
_USER_CHARACTERS: Final = 64


class Users(Protocol):
    """Those who may log in."""

    async def log_in(self, user: str, password: str) -> Pages:
        """Raises SaslAuthenticationFailed, MillstreamError."""


@dataclass(frozen=True, slots=True)
class LoginView:
    """The form. `sentence`: why it is shown again."""

    token: str
    user: str = ""
    onward: str = "/"
    sentence: str = ""


class _Refused(Exception):
    """A login that is not to be; its text is for who has tried."""

    def __init__(self, status: HTTPStatus, sentence: str, wait_s: int = 0) -> None:
        super().__init__(sentence)
        self.status = status
        self.wait_s = wait_s


class Logins:
    """Lets users in. An `Entrance` of the application."""

    def __init__(
        self,
        users: Users,
        door: Door,
        clock: Clock,
        secret: Callable[[], str],
        pages_to_go_on: Iterable[str],
    ) -> None:
        """`secret` makes texts that nobody can guess. `pages_to_go_on`: the addresses that a login may lead to."""
        self._users = users
        self._door = door
        self._clock = clock
        self._secret = secret
        self._pages_to_go_on = frozenset(pages_to_go_on)
        self._signatures = Signatures(secret().encode())
        self._sessions = Sessions()
        self._failed = FailedLogins(
            USER_WAIT_MAX_MS if door.is_behind_proxy else ADDRESS_WAIT_MAX_MS
        )
        self._refusals = RefusalLog()
        self._under_way = 0
        # Over TLS the prefix has browsers refuse what a neighbouring host, or a page without TLS, would plant (RFC 6265bis).
        self._cookie = "__Host-millstream" if door.has_secure_cookies else "millstream"
        self._form_cookie = f"{self._cookie}-form"

    def visitor(self, request: Request) -> Visitor | None:
        """Returns who asks; None for who must log in."""
        browser_id = self._id_in(request, self._cookie)
        if browser_id is None:
            return None
        session = self._sessions.find(browser_id, self._now_ms())
        if session is None:
            return None
        token = self._signatures.form_token_of(browser_id)
        return Visitor(session.user, session.role, session.pages, token)

    def turned_away(self, request: Request) -> Response:
        """Returns what leads to the form, and from there back to the page."""
        onward = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(page_url(LOGIN, next=onward), HTTPStatus.SEE_OTHER)

    async def forget(self, request: Request) -> None:
        """Ends the session of who asks: the cluster takes its login no more."""
        session = self._sessions.end(self._id_in(request, self._cookie) or "")
        if session is None:
            return
        _LOGGER.info(
            "user %s from %s is logged in no more: the cluster refuses it",
            _shown(session.user),
            address_of(request),
        )
        await _close([session.pages])

    def log_refusal(self, request: Request, why: str) -> None:
        visitor = self.visitor(request)
        user = "" if visitor is None else f" of user {_shown(visitor.user or '')}"
        what = f"{form_named(request)}{user}"
        self._refusals.say(address_of(request), what, why, self._now_ms())

    async def keep(self) -> None:
        """Closes what has ended, for ever."""
        while True:
            await asyncio.sleep(_LOOK_FOR_ENDED_EVERY_S)
            await _close(self._sessions.take_ended(self._now_ms()))

    async def close(self) -> None:
        await _close(self._sessions.take_all())

    def routes(self, renderer: Renderer) -> list[Route]:
        async def form(request: Request) -> Response:
            if self.visitor(request) is not None:
                return RedirectResponse("/", HTTPStatus.SEE_OTHER)
            onward = self._onward(request.query_params.get("next", "/"))
            return self._form(request, renderer, onward=onward)

        async def log_in(request: Request) -> Response:
            return await self._log_in(request, renderer)

        async def log_out(request: Request) -> Response:
            return await self._log_out(request)

        return [
            Route(LOGIN, form, methods=["GET"]),
            Route(LOGIN, log_in, methods=["POST"]),
            Route(LOGOUT, log_out, methods=["POST"]),
        ]

    async def _log_in(self, request: Request, renderer: Renderer) -> Response:
        fields = await read_form(request)
        user, onward = fields.get("user", ""), self._onward(fields.get("next", "/"))
        shown_to, address = self._id_in(request, self._form_cookie), address_of(request)
        try:
            if shown_to is None or not self._signatures.is_form_token(
                shown_to, fields.get(TOKEN, "")
            ):
                raise _Refused(  # noqa: TRY301 - all refusals end in the form
                    HTTPStatus.FORBIDDEN,
                    "The form was too old, or this browser keeps no cookies: try again.",
                )
            self._check_may_try(address, user)
            pages = await self._asked(address, user, fields.get("password", ""))
            before = self._id_in(request, self._cookie)
            browser_id = await self._begin(before, user, address, pages)
        except _Refused as refused:
            if refused.status is not HTTPStatus.UNAUTHORIZED:  # which has its line
                what = f"login of user {_shown(user)}"
                self._refusals.say(address, what, str(refused), self._now_ms())
            return self._form(request, renderer, refused, user, onward=onward)
        response = RedirectResponse(onward, HTTPStatus.SEE_OTHER)
        self._set_cookie(response, self._cookie, browser_id)
        return response

    def _check_may_try(self, address: str, user: str) -> None:
        wait_ms = self._failed.wait_ms(address, user, self._now_ms())
        if wait_ms > 0:
            wait_s = -(-wait_ms // 1000)
            sentence = f"Too many logins have failed: try again in {wait_s} s."
            raise _Refused(HTTPStatus.TOO_MANY_REQUESTS, sentence, wait_s)
        if self._under_way >= LOGINS_AT_ONCE_MAX:
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "Too many log in just now: try again.")

    async def _asked(self, address: str, user: str, password: str) -> Pages:
        """Returns what the cluster shows this user."""
        began_ms = self._now_ms()
        self._failed.begin(address, user, began_ms)
        self._under_way += 1
        try:
            pages = await self._users.log_in(user, password)
        except SaslAuthenticationFailed:
            _LOGGER.info("login of user %s from %s was refused", _shown(user), address)
            sentence = "The cluster knows no such user and password."
            raise _Refused(HTTPStatus.UNAUTHORIZED, sentence) from None
        except MillstreamError as error:
            if isinstance(error, BrokerNotAvailable):
                # Every address refused the connection. After all else, as a time-out, somebody may have looked at the password.
                self._failed.take_back(address, user, began_ms)
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
        finally:
            self._under_way -= 1
        self._failed.note_success(address, user)
        return pages

    async def _begin(self, before: str | None, user: str, address: str, pages: Pages) -> str:
        """Begins a session under a new id, which it returns: one that was planted in the
        browser before is worth nothing.
        """
        role = Role.ADMIN if user in self._door.admins else Role.READER
        browser_id = self._secret()
        # First, so that its place is free: the login of a browser that has one ends no session of another.
        old = self._sessions.end(before or "")
        ended = [] if old is None else [old.pages]
        try:
            ended += self._sessions.begin(browser_id, user, role, pages, self._now_ms())
        except TooManySessions as error:
            await _close([*ended, pages])
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
        await _close(ended)
        _LOGGER.info("user %s logged in from %s as %s", _shown(user), address, role)
        return browser_id

    async def _log_out(self, request: Request) -> Response:
        fields = await read_form(request)
        visitor = self.visitor(request)
        check_form(visitor, fields.get(TOKEN, ""))
        session = self._sessions.end(self._id_in(request, self._cookie) or "")
        if session is not None:
            _LOGGER.info("user %s logged out from %s", _shown(session.user), address_of(request))
            await _close([session.pages])
        response = RedirectResponse(LOGIN, HTTPStatus.SEE_OTHER)
        response.delete_cookie(
            self._cookie,
            secure=self._door.has_secure_cookies,
            httponly=True,
            samesite="strict",
        )
        return response

    def _form(
        self,
        request: Request,
        renderer: Renderer,
        refused: _Refused | None = None,
        user: str = "",
        *,
        onward: str,
    ) -> Response:
        known = self._id_in(request, self._form_cookie)
        browser_id = known or self._secret()
        token = self._signatures.form_token_of(browser_id)
        status, sentence = HTTPStatus.OK, ""
        if refused is not None:
            status, sentence = refused.status, str(refused)
        view = LoginView(token, user[:_USER_CHARACTERS], onward, sentence)
        text = renderer.render("login.html", view, section="", twin="", visitor=None)
        response = Response(text, status, media_type="text/html")
        if refused is not None and refused.wait_s:
            response.headers["retry-after"] = str(refused.wait_s)
        if known is None:
            self._set_cookie(response, self._form_cookie, browser_id)
        return response

    def _set_cookie(self, response: Response, name: str, browser_id: str) -> None:
        response.set_cookie(
            name,
            self._signatures.cookie_of(browser_id),
            secure=self._door.has_secure_cookies,
            httponly=True,
            samesite="strict",
        )

    def _id_in(self, request: Request, cookie: str) -> str | None:
        return self._signatures.id_of(request.cookies.get(cookie))

    def _onward(self, wanted: str) -> str:
        """Returns a page of ours, whatever was asked for: a login that leads elsewhere is how
        passwords are fished for.
        """
        try:
            found = urlsplit(wanted)
        except ValueError:
            return "/"
        is_ours = not found.scheme and not found.netloc and found.path in self._pages_to_go_on
        return wanted if is_ours and wanted.startswith("/") and wanted.isprintable() else "/"

    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms


def check_form(visitor: Visitor | None, token: str) -> None:
    """Raises HTTPException for a form that was not made for who sends it."""
    if visitor is None:
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "Log in first.")
    if not is_same(visitor.form_token, token):
        raise HTTPException(HTTPStatus.FORBIDDEN, "The form was too old: load the page again.")


async def _close(ended: Iterable[Pages]) -> None:
    """Closes what each of them reads with. One that cannot be closed cleanly is no reason to turn others away."""
    for pages in ended:
        try:
            await pages.close()
        except Exception:
            _LOGGER.exception("the clients of a session were not closed cleanly")


def _shown(user: str) -> str:
    return shortened(repr(user))
