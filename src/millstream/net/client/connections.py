"""The connections of a client, one per broker address and lane, and the memory of those that could not be made."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from millstream.errors import KafkaError, NetworkException
from millstream.net.client.connection import Connection
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.outages import SILENT_MS, Backoff, Outages, silence
from millstream.net.client.dialer import Dialer, NotConnected
from millstream.net.client.tasks import TaskScope
from millstream.runtime import Random

_STAGGER_SECONDS = 0.3
"""Ours: so long may one bootstrap address stay silent before the next one is tried beside it. The quarter of a second
of RFC 8305 (happy eyeballs), and a round trip round the world."""


class Lane(Enum):
    """Brokers answer a connection's requests in order, so what may wait long has a connection of its own."""

    MAIN = "main"
    FETCH = "fetch"
    GROUP = "group"
    MARKERS = "markers"
    """Between brokers, as are the next ones: each of their answers waits for replicas."""
    VERIFICATION = "verification"
    SHARE_STATE = "share state"


class NoBrokerReachable(NetworkException):
    """None of the brokers that were tried could be connected to."""


class AllRefused(NoBrokerReachable):
    """None could, and none was silent: each refused or does not exist, so there is nothing to wait for but a start."""


@dataclass(frozen=True, slots=True)
class DialPolicy:
    setup_timeout: Backoff
    """Grows with failures as waits do (KIP-601)."""
    reconnect: Backoff


@dataclass(slots=True)
class _Failures:
    count: int
    next_attempt_ms: int
    error: KafkaError


class Connections:
    def __init__(
        self,
        dialer: Dialer,
        policy: DialPolicy,
        scope: TaskScope,
        now_ms: Callable[[], int],
        random: Random,
        *,
        log: logging.Logger,
    ) -> None:
        """`log` is told of addresses that cannot be reached, and of their return."""
        self._dialer = dialer
        self._policy = policy
        self._scope = scope
        self._now_ms = now_ms
        self._random = random
        self._log = log
        self._connections: dict[tuple[Address, Lane], Connection] = {}
        self._connecting: dict[tuple[Address, Lane], asyncio.Lock] = {}
        self._failures: dict[Address, _Failures] = {}
        self._outages = Outages()
        self._silent: dict[Address, int] = {}
        """Addresses that are being dialled and have not answered for SILENT_MS, and since when."""
        self.has_connected = False
        """Whether there was ever a connection."""

    @property
    def any_failed(self) -> bool:
        """Whether an address could not be connected to lately, or has not answered yet."""
        return bool(self._failures or self._silent)

    def why_unreachable(self) -> str:
        now_ms = self._now_ms()
        reasons = {address: str(failed.error) for address, failed in self._failures.items()}
        for address, since_ms in self._silent.items():
            reasons.setdefault(address, silence(address, now_ms - since_ms))
        return "; ".join(reasons.values()) or "no address was tried yet"

    def open(self, address: Address, lane: Lane) -> Connection | None:
        """Returns the one there is, without waiting."""
        connection = self._connections.get((address, lane))
        return None if connection is None or connection.is_closed else connection

    def least_loaded(self) -> Connection | None:
        """Returns the open one, of those for short requests, that has the least to do."""
        usable = [
            connection
            for (_, lane), connection in self._connections.items()
            if lane is Lane.MAIN and not connection.is_closed
        ]
        return min(usable, key=lambda connection: connection.in_flight_count, default=None)

    async def get(self, address: Address, lane: Lane) -> Connection:
        """Returns the open one, or a new one, after the wait that earlier failures to connect ask for.

        Those who ask while it is made share it, and its failure. Raises as `Dialer.dial`.
        """
        key = (address, lane)
        connection = self.open(address, lane)
        if connection is not None:
            return connection
        before = self._failures.get(address)
        async with self._connecting.setdefault(key, asyncio.Lock()):
            # Who had the lock may have connected, or have found that nobody can: each of a hundred would wait for a
            # machine that is silent as long as all before it, while what they ask for is long somewhere else.
            connection = self.open(address, lane)
            if connection is not None:
                return connection
            failed = self._failures.get(address)
            if failed is not None and failed is not before:
                raise type(failed.error)(str(failed.error)) from failed.error
            wait_ms = 0 if failed is None else failed.next_attempt_ms - self._now_ms()
            if wait_ms > 0:
                await asyncio.sleep(wait_ms / 1000)
            connection = await self._dial(address, 1 if failed is None else failed.count + 1)
            # The client may have ended while it was dialled: nobody else would close it.
            if self._scope.is_closed:
                await connection.close()
            self._scope.check()
            self._failures.pop(address, None)
            self.has_connected = True
            self._connections[key] = connection
            return connection

    async def first_reachable(self, addresses: Sequence[Address]) -> Connection:
        """Returns the first connection that can be made; a silent address does not hold up the others.

        Raises NoBrokerReachable naming each address and why, or the first error that says we are not let in.
        """
        start = self._random.randrange(len(addresses))
        untried = [*addresses[start:], *addresses[:start]]
        untried.sort(key=self._next_attempt_ms)  # stable: those that never failed stay shuffled
        attempts: set[asyncio.Task[Connection]] = set()
        refusal: KafkaError | None = None
        all_refused = True
        try:
            while untried or attempts:
                if untried:
                    attempts.add(
                        self._scope.start(
                            self.get(untried.pop(0), Lane.MAIN), "connect", awaited=True
                        )
                    )
                done, attempts = await asyncio.wait(
                    attempts,
                    timeout=_STAGGER_SECONDS if untried else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for attempt in done:
                    if attempt.cancelled():
                        self._scope.check()  # closed meanwhile: nobody has cancelled whoever asks
                    error = attempt.exception()
                    if error is None:
                        return attempt.result()
                    if not isinstance(error, KafkaError):
                        raise error
                    if not error.retriable:
                        refusal = refusal or error
                    all_refused = all_refused and isinstance(error, NotConnected)
        finally:
            for attempt in attempts:
                attempt.cancel()
        if refusal is not None:
            raise type(refusal)(str(refusal)) from refusal
        sentence = f"no broker could be reached: {self.why_unreachable()}"
        raise AllRefused(sentence) if all_refused else NoBrokerReachable(sentence)

    async def close(self) -> None:
        """Closes the connections that are open. New ones can be made afterwards."""
        connections = list(self._connections.values())
        self._connections.clear()
        for connection in connections:
            connection.begin_close()  # before anything is awaited: cancelled here, none stays open
        await asyncio.gather(*(connection.close() for connection in connections))

    async def _dial(self, address: Address, attempt: int) -> Connection:
        timeout_ms = self._policy.setup_timeout.delay_ms(attempt, self._random)
        watch = asyncio.get_running_loop().call_later(SILENT_MS / 1000, self._note_silence, address)
        try:
            connection = await self._dialer.dial(address, timeout_ms)
        except KafkaError as error:
            if error.retriable:  # others are raised to the caller
                self._warn(self._outages.failed(address, str(error), self._now_ms()))
            retry_ms = self._now_ms() + self._policy.reconnect.delay_ms(attempt, self._random)
            self._failures[address] = _Failures(attempt, retry_ms, error)
            raise
        finally:
            watch.cancel()
            self._silent.pop(address, None)
        healed = self._outages.connected(address, self._now_ms())
        if healed is not None:
            self._log.info("%s: %s", self._dialer.client_id, healed)
        return connection

    def _note_silence(self, address: Address) -> None:
        self._silent[address] = self._now_ms() - SILENT_MS
        self._warn(self._outages.silent(address, self._now_ms()))

    def _warn(self, sentence: str | None) -> None:
        if sentence is not None:
            self._log.warning("%s: %s", self._dialer.client_id, sentence)

    def _next_attempt_ms(self, address: Address) -> int:
        failed = self._failures.get(address)
        return 0 if failed is None else failed.next_attempt_ms
