"""Calls that do not fit the state of a client."""

from __future__ import annotations

from millstream.errors import MillstreamError


class IllegalState(MillstreamError):
    """A call that does not fit what the client was told before; the message says which call would."""


class ConcurrentUse(IllegalState):
    """A second task, or thread, used the client while a call of the first was under way."""
