"""Judges ends of connections that look as if the client and the listener did not speak the same protocol, and guesses
what is at the other end, by its first bytes or its silence.

One end may be chance: a node that stops closes what it has just accepted, and so does a proxy with no node behind
it. Two ends of a client that nobody has served yet are a wrong setting, which trying again does not change; unless
the client was told to wait for a cluster that has yet to start (`wait_ms`). Reads no clock.
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


def unexpected_size(size: int, frame_bytes_max: int) -> str:
    """Describes the sender of a response that announces `size` bytes, which is negative or more than allowed."""
    first = (size & 0xFFFFFFFF).to_bytes(4, "big")
    if first[0] in (0x15, 0x16) and first[1] == 3:
        return "answered in TLS; set security_protocol to SSL or SASL_SSL"
    if first == b"HTTP":
        return "is an HTTP server, not a Kafka broker"
    return (
        f"announced a response of {size} bytes; receive_message_bytes_max is {frame_bytes_max}."
        " Is this a Kafka listener?"
    )


def early_end(security_protocol: str, answers: int) -> str:
    """Returns the likely reason why a broker closed a connection after so few answers;
    empty when there is none to name.
    """
    encrypted = security_protocol.endswith("SSL")
    if answers == 0 and encrypted:
        return (
            " before it answered; it may want a certificate of ours (ssl_keystore_location), or one"
            " with a name that its ssl.principal.mapping.rules know"
        )
    if answers == 0:
        wanted = "SASL_SSL" if security_protocol.startswith("SASL") else "SSL or SASL_SSL"
        return f" before it answered; listeners for TLS do that: try security_protocol={wanted}"
    if answers == 1 and not security_protocol.startswith("SASL"):
        wanted = "SASL_SSL" if encrypted else "SASL_PLAINTEXT"
        return f" after ApiVersions; listeners for SASL do that: try security_protocol={wanted}"
    return ""
