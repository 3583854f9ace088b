"""Signs the ids of browsers, so that a cookie or a form of anybody else is known before anything is looked up. Pure.

An id is chance; its signature binds it to what it is for: the token of a form is none for a cookie.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

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
