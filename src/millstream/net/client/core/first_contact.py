"""Judges ends of connections that look as if the client and the listener did not speak the same protocol.

One may be chance: a node that stops closes what it has just accepted, and so does a proxy with no node behind it. Two
ends of a client that nobody has served yet are a wrong setting, which trying again does not change; unless the client
was told to wait for a cluster that has yet to start (`wait_ms`). Reads no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from millstream.errors import KafkaError, NetworkException

_ENDS_BELIEVED: Final = 2


class ListenerMismatch(NetworkException):
    """A connection ended as those do that come to a listener of another kind. The message says what to set."""


class WrongListener(KafkaError):
    """The listener speaks another protocol than `security_protocol` says, or is no broker's. No retry changes that."""

    name: ClassVar[str] = "WRONG_LISTENER"
    sentence: ClassVar[str] = "The listener speaks another protocol than security_protocol says."


@dataclass(slots=True)
class FirstContact:
    """Shared by the connections of a client. `is_over` once anything of it was served."""

    wait_ms: int = 0
    is_over: bool = False
    _ends: int = 0
    _since_ms: int | None = None

    def judge(self, error: KafkaError, now_ms: int) -> KafkaError:
        """Returns the error of a connection that ended, or the WrongListener that it is believed to be by now."""
        if self.is_over or not isinstance(error, ListenerMismatch):
            return error
        self._ends += 1
        if self._since_ms is None:
            self._since_ms = now_ms
        if self._ends < _ENDS_BELIEVED or now_ms - self._since_ms < self.wait_ms:
            return error
        return WrongListener(str(error))
