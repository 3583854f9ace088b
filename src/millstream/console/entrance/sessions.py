"""Keeps the users who are logged in. Pure: times are given, and what ends is returned, for the caller to close.

A session holds clients of the cluster, which are logged in as its user, so there are few: each is
connections to every broker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.console.entrance.visitor import Role
from millstream.console.pages import Pages
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
