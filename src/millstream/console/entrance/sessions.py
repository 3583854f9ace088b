"""Keeps the users who are logged in, and signs the ids of their browsers. Pure: times are given, and what ends is
returned, for the caller to close.

A session holds clients of the cluster, which are logged in as its user, so there are few: each is connections to
every broker. A cookie or a form of anybody else is known before anything is looked up: an id is chance, and its
signature binds it to what it is for, so that the token of a form is none for a cookie.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from millstream.console.pages import Pages, Role
from millstream.errors import MillstreamError

SESSIONS_MAX: Final = 64
SESSIONS_OF_USER_MAX: Final = 4
"""A fifth login of a user ends the one that was used the longest time ago."""
IDLE_MS: Final = 30 * 60 * 1000
LIFETIME_MS: Final = 12 * 60 * 60 * 1000


class TooManySessions(MillstreamError):
    """So many users are logged in that there is no room for another one."""


@dataclass(slots=True)
class UserSession:
    """A user who has logged in."""

    user: str
    role: Role
    pages: Pages
    began_ms: int
    used_ms: int

    def has_ended(self, now_ms: int) -> bool:
        return now_ms - self.used_ms >= IDLE_MS or now_ms - self.began_ms >= LIFETIME_MS


class Sessions:
    """The sessions by the id of their browser."""

    def __init__(self) -> None:
        self._sessions: dict[str, UserSession] = {}
        """In the order of their last use."""

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, browser_id: str, now_ms: int) -> UserSession | None:
        """Returns the session of a browser, which is used by that; None where there is none, or it has ended."""
        session = self._sessions.get(browser_id)
        if session is None or session.has_ended(now_ms):
            return None
        session.used_ms = now_ms
        self._sessions[browser_id] = self._sessions.pop(browser_id)
        return session

    def begin(
        self, browser_id: str, user: str, role: Role, pages: Pages, now_ms: int
    ) -> list[Pages]:
        """Begins a session, and returns the pages of those that end. Raises TooManySessions."""
        ended = self.take_ended(now_ms)
        mine = [key for key, each in self._sessions.items() if each.user == user]
        if len(mine) >= SESSIONS_OF_USER_MAX:
            ended.append(self._sessions.pop(mine[0]).pages)
        elif len(self._sessions) >= SESSIONS_MAX:
            raise TooManySessions(
                f"{SESSIONS_MAX} users are logged in, and no more may be: try again later"
            )
        self._sessions[browser_id] = UserSession(user, role, pages, now_ms, now_ms)
        return ended

    def end(self, browser_id: str) -> UserSession | None:
        """Ends the session of a browser, and returns it."""
        return self._sessions.pop(browser_id, None)

    def take_ended(self, now_ms: int) -> list[Pages]:
        """Forgets the sessions that have ended by now, and returns their pages."""
        ended = [key for key, each in self._sessions.items() if each.has_ended(now_ms)]
        return [self._sessions.pop(key).pages for key in ended]

    def take_all(self) -> list[Pages]:
        """Forgets all sessions, and returns their pages."""
        every = [each.pages for each in self._sessions.values()]
        self._sessions.clear()
        return every


_COOKIE: Final = b"cookie:"
_FORM: Final = b"form:"
_LONGEST: Final = 200
"""Characters of a cookie that is looked at; ours have half as many."""


class Signatures:
    """Those of one key, which is as old as the process."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def cookie_of(self, browser_id: str) -> str:
        """Returns the cookie that has this id."""
        return f"{browser_id}.{self._signed(_COOKIE, browser_id)}"

    def id_of(self, cookie: str | None) -> str | None:
        """Returns the id of a cookie; None where it is not ours."""
        if cookie is None or len(cookie) > _LONGEST:
            return None
        browser_id, _, signature = cookie.partition(".")
        return browser_id if is_same(self._signed(_COOKIE, browser_id), signature) else None

    def form_token_of(self, browser_id: str) -> str:
        """Returns what every form of this browser must bring back: no other site knows it."""
        return self._signed(_FORM, browser_id)

    def is_form_token(self, browser_id: str, shown: str) -> bool:
        """Whether a form came from a page of ours that this browser was shown."""
        return is_same(self.form_token_of(browser_id), shown)

    def _signed(self, purpose: bytes, browser_id: str) -> str:
        return hmac.new(self._key, purpose + browser_id.encode(), hashlib.sha256).hexdigest()


def is_same(ours: str, shown: str) -> bool:
    """Whether they are the same, in the same time wherever they differ."""
    return hmac.compare_digest(ours.encode(), shown.encode())
