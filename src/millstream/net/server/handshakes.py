"""TLS handshakes of clients that have just connected: they take turns, have a time limit, and there
are only so many at once.

A handshake costs a third to two thirds of a millisecond of the loop (docs/adr/0027). So each of its steps is a turn
like those of requests, and however many come, sockets of others are looked at after a few of them. A client that stands
still in the middle costs memory and a descriptor only: nobody waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import OrderedDict
from collections.abc import Callable, Container
from typing import Final, Protocol

from millstream.net.server.client_connection import ClientConnection, audited_login
from millstream.net.server.closings import Closings
from millstream.net.server.deadline_queue import DeadlineQueue
from millstream.net.server.tls_socket import TlsSocket
from millstream.net.server.turns import Turns
from millstream.quoting import shortened
from millstream.security.principal import ANONYMOUS, KafkaPrincipal

_LOGGER = logging.getLogger(__name__)
HANDSHAKE_MS: Final = 10_000
"""A client that has not finished by then is dropped. Kafka has no such limit; clients give up after 10 s as well."""
OPEN_MAX: Final = 512
"""OpenSSL holds 35 KB for each. Where 2,000 begin in a second and stand still, each has a quarter
of a second before it makes room."""
UNHEARD_MS: Final = 100
"""A client that has said nothing for longer makes room when there are too many: an honest one begins with the
packet after its last of TCP."""
SILENCE_MS: Final = 250
"""So does one that is silent for longer later on when there are too many: a round trip round the world. In a storm of
honest ones who wait for us, nobody pushes out another."""
AGE_MS: Final = 1_000
"""So does a handshake that is older, whatever its client sends: an honest one needs milliseconds of ours and round
trips of its own, and a turn of each of the 512 takes half a second. Here alone nobody asks the kernel what lies unread:
a client that always has something there is whom this is for. Where our loop stood still for a second, as on
a machine that is suspended, whoever waited meanwhile is as old: one of them is closed for each that comes while there
are too many, and connects again."""
_HEARD_AT_ONCE_MAX: Final = 64
"""A system call each; of more, the event loop tells in its next round."""
_ROUND_S: Final = 0.001
"""A few handshakes. In a storm of them there is always a round, which whoever has logged in
waits for with each request."""


class TlsListener(Protocol):
    """The TLS of one listener. The context may be another one for each connection, since stores are reloaded."""

    @property
    def context(self) -> ssl.SSLContext: ...
    def principal_of(self, certificate: bytes | None) -> KafkaPrincipal | None:
        """Returns who a client is by its certificate, None for one whose name fits no rule."""
        ...


class HandshakeOwner(Protocol):
    """The server, as far as handshakes need it."""

    def on_handshake_ended(self, peer: ClientConnection, tls: TlsSocket | None) -> None:
        """Takes the connection over after its handshake, or forgets it (None), which is closed then."""
        ...


class Handshakes:
    """All handshakes of a server. Everything runs on one loop."""

    def __init__(
        self,
        owner: HandshakeOwner,
        now_s: Callable[[], float],
        now_ms: Callable[[], int],
        closings: Closings,
    ) -> None:
        """`now_s` measures turns, finer than `now_ms` does."""
        self.closings = closings
        self._owner = owner
        self._now_ms = now_ms
        # Turns of their own: requests wait behind one round of handshakes, never behind the queue of all.
        self.turns = Turns(now_s, lambda run: asyncio.get_running_loop().call_soon(run), _ROUND_S)
        self._open: dict[Handshake, int] = {}
        """With the time of its beginning, the oldest first."""
        self._unheard: OrderedDict[Handshake, int] = OrderedDict()
        self._silent: OrderedDict[Handshake, int] = OrderedDict()
        """Those that wait for their clients, for the first time or later on, and since when, the longest first."""
        self._deadlines: DeadlineQueue[Handshake] = DeadlineQueue(HANDSHAKE_MS)

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, connected: TlsSocket, peer: ClientConnection, listener: TlsListener) -> None:
        handshake = Handshake(connected, peer, listener, self)
        now_ms = self._now_ms()
        self._open[handshake] = now_ms
        self._deadlines.begin(handshake, now_ms)
        handshake.wait_for_client()

    def has_room(self) -> bool:
        """Whether one more may begin. One is closed for it, if its client stands still or is slow."""
        return len(self._open) < OPEN_MAX or self.make_room()

    def make_room(self, listeners: Container[str] | None = None) -> bool:
        """Closes the slowest handshake of these listeners (None: of all), if its client stands still or is slow.

        Where the event loop itself stood still, a client may have spoken without being heard: that one goes on.
        """
        now_ms, heard = self._now_ms(), 0
        for waiting, longest_ms in (
            (self._unheard, UNHEARD_MS),
            (self._silent, SILENCE_MS),
            (self._open, AGE_MS),
        ):
            for handshake, since_ms in list(waiting.items()):
                if now_ms - since_ms < longest_ms or heard == _HEARD_AT_ONCE_MAX:
                    break
                if listeners is not None and handshake.peer.listener_name not in listeners:
                    continue
                if waiting is not self._open and handshake.is_readable():
                    handshake.go_on()
                    heard += 1
                    continue
                handshake.fail("others wait, and it was the slowest of too many handshakes")
                return True
        return False

    def has_some_of(self, listeners: Container[str]) -> bool:
        """Whether a handshake of one of these listeners is under way."""
        return any(handshake.peer.listener_name in listeners for handshake in self._open)

    def note_silence(self, handshake: Handshake) -> None:
        waiting = self._silent if handshake.is_heard else self._unheard
        waiting[handshake] = self._now_ms()

    def end_silence(self, handshake: Handshake) -> None:
        self._unheard.pop(handshake, None)
        self._silent.pop(handshake, None)

    def next_deadline_ms(self) -> int | None:
        return self._deadlines.next_deadline_ms()

    def close_expired(self, now_ms: int) -> None:
        for handshake in self._deadlines.take_expired(now_ms):
            handshake.fail(f"not finished after {HANDSHAKE_MS} ms")

    def close(self) -> None:
        for handshake in list(self._open):
            handshake.fail("the node is shutting down", logging.DEBUG)

    def finish(self, handshake: Handshake, tls: TlsSocket | None) -> None:
        """Hands a connection on, or forgets it."""
        del self._open[handshake]
        self.end_silence(handshake)
        self._deadlines.discard(handshake)
        self.turns.forget(handshake)
        self._owner.on_handshake_ended(handshake.peer, tls)


class Handshake:
    """One client that has not finished its handshake."""

    def __init__(
        self,
        connected: TlsSocket,
        peer: ClientConnection,
        listener: TlsListener,
        handshakes: Handshakes,
    ) -> None:
        self.peer = peer
        self.is_heard = False
        """Whether the client has sent something."""
        self._socket = connected
        self._listener = listener
        self._handshakes = handshakes
        self._loop = asyncio.get_running_loop()
        self._stop_waiting: Callable[[int], object] | None = None

    def wait_for_client(self) -> None:
        self._handshakes.note_silence(self)
        self._loop.add_reader(self._socket.fileno(), self.go_on)
        self._stop_waiting = self._loop.remove_reader

    def take_turn(self) -> None:
        """Takes the next step. OpenSSL sends the alert of a handshake that fails by itself."""
        try:
            self._socket.do_handshake()
        except ssl.SSLWantReadError:
            self.wait_for_client()
        except ssl.SSLWantWriteError:
            self._loop.add_writer(self._socket.fileno(), self.go_on)
            self._stop_waiting = self._loop.remove_writer
        except OSError as error:
            self.fail(handshake_failure(error))
        else:
            self._finish()

    def fail(self, reason: str, level: int = logging.INFO) -> None:
        reason = shortened(reason)
        again = None
        if level > logging.DEBUG:
            again = self._handshakes.closings.note(self.peer.client_host, reason)
        _LOGGER.log(
            logging.DEBUG if again is None else level,
            "connection %d from %s closed: no TLS: %s%s",
            self.peer.connection_id, self.peer, reason, again or "",
            extra=audited_login(self.peer, is_allowed=False, reason=reason, mechanism="TLS"),
        )  # fmt: skip
        self._wait_no_more()
        self._handshakes.finish(self, None)
        self._socket.refuse()

    def is_readable(self) -> bool:
        """Whether its client has sent something that was not looked at."""
        return self._socket.is_readable()

    def go_on(self) -> None:
        """Has it take its next step when its turn comes: its client has sent something, or takes more."""
        self._wait_no_more()
        self._handshakes.end_silence(self)
        self.is_heard = True
        self._handshakes.turns.ask(self)

    def _wait_no_more(self) -> None:
        if self._stop_waiting is not None:
            self._stop_waiting(self._socket.fileno())
            self._stop_waiting = None

    def _finish(self) -> None:
        principal = self._listener.principal_of(self._socket.certificate())
        if principal is None:
            self.fail("the name in its certificate fits none of ssl.principal.mapping.rules")
            return
        self.peer.principal = principal
        if principal != ANONYMOUS:
            _LOGGER.info(
                "connection %d from %s is %s by its certificate",
                self.peer.connection_id, self.peer, principal,
                extra=audited_login(self.peer, is_allowed=True, principal=principal.text, mechanism="TLS"),
            )  # fmt: skip
        self._handshakes.finish(self, self._socket)


def handshake_failure(error: OSError) -> str:
    """Returns what went wrong, in words for whoever reads the log."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not believed: {error.verify_message}"
    reason = getattr(error, "reason", None) or ""
    if reason in {"HTTP_REQUEST", "WRONG_VERSION_NUMBER", "HTTPS_PROXY_REQUEST"}:
        return "the client does not speak TLS; its security.protocol must be that of the listener"
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return "the client showed no certificate, which ssl.client.auth requires"
    if "ALERT" in reason:
        return f"the client gave up ({reason.replace('_', ' ').lower()}); it may not believe our certificate"
    if reason:
        return reason.replace("_", " ").lower()
    return str(error) or "the client ended the connection"
