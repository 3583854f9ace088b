"""The quotas of one node: the limits of the metadata image, and what clients have taken here.

Each broker counts for itself, as in Kafka: a quota of 1 MB a second is 1 MB a second of every broker. Of bytes and
request time the longer wait counts. Requests that come in envelopes were charged by the broker that passed them on;
changes of metadata are charged where the controller is. Connections are counted by each server of the node
(`connection_quotas`), which hears here of the quotas of addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, final

from millstream.broker.fetch.fetch_sessions import fetching_replica
from millstream.broker.metrics.recent_values import RecentValues
from millstream.broker.quotas.connection_quotas import ConnectionQuotas
from millstream.broker.quotas.request_time import RequestTime
from millstream.broker.quotas.throttled_clients import Held, QuotaKind, ThrottledClients
from millstream.broker.requests.request_context import RequestContext
from millstream.metadata.stored_security import QuotaEntity
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.fetch import FetchRequest
from millstream.quota.client_quota_manager import (
    ClientQuotaManager,
    ControllerMutationQuotaManager,
    Mutations,
)
from millstream.quota.client_quotas import ClientQuotas, Counted
from millstream.quota.rate import QuotaWindows, Rate
from millstream.quota.token_bucket import MutationCharge
from millstream.runtime import Clock

_EXEMPT: Final = frozenset(
    {
        ApiKey.ALTER_PARTITION, ApiKey.BEGIN_QUORUM_EPOCH, ApiKey.END_QUORUM_EPOCH, ApiKey.ENVELOPE, ApiKey.FETCH_SNAPSHOT,
        ApiKey.UPDATE_RAFT_VOTER, ApiKey.VOTE, ApiKey.WRITE_TXN_MARKERS,
    }
)  # fmt: skip
"""What nodes ask of each other, and what makes others wait if it waits (`sendResponseExemptThrottle`);
fetches of followers, too."""
_STRICT_FROM: Final[Mapping[int, int]] = {
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.CREATE_TOPICS: 6,
    ApiKey.DELETE_TOPICS: 5,
}
"""What changes partitions, and the version from which clients know THROTTLING_QUOTA_EXCEEDED (KIP-599)."""
_PERCENT_PER_NS: Final = 100 / 1_000_000_000
"""100 is all the time of the one loop that serves requests."""
_UNLIMITED: Final = (1 << 31) - 1


class NodeClocks(NamedTuple):
    """The clocks that requests are measured with, in nanoseconds."""

    now_ns: Callable[[], int]
    busy_ns: Callable[[], int]
    """How long the thread that asks was busy."""


@final
class NodeQuotas:
    """Charges requests of clients. Used on the loop alone.

    At the time of the charge, as Kafka: requests that wait end in another order than they came, and
    a rate never goes back in time.
    """

    def __init__(
        self,
        windows: QuotaWindows,
        mutation_windows: QuotaWindows,
        clock: Clock,
        clocks: NodeClocks | None = None,
    ) -> None:
        """`clocks`: where requests are to be measured by their handlers."""
        self._clock = clock
        self._clocks = clocks
        self._rates = {
            QuotaKind.PRODUCE: ClientQuotaManager(windows),
            QuotaKind.FETCH: ClientQuotaManager(windows),
            QuotaKind.REQUEST: ClientQuotaManager(windows, throttle_time_max_ms=windows.size_ms),
        }
        self._produce, self._fetch, self._request = self._rates.values()
        self._mutations = ControllerMutationQuotaManager(mutation_windows)
        self._exempt = RecentValues()
        """Percents of what nobody is charged with."""
        self._connections: tuple[ConnectionQuotas, ...] = ()
        self._of_addresses: Mapping[str | None, float] = {}
        self.throttled = ThrottledClients()
        self.is_enabled = False
        """Whether there is any quota of clients: read for each request, so a field."""

    def use(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Takes over the quotas of a metadata image."""
        entries = list(quotas.items())
        for kind, rates in self._rates.items():
            rates.change_quotas(ClientQuotas.of(kind, entries))
        self._mutations.change_quotas(ClientQuotas.of(QuotaKind.CONTROLLER_MUTATION, entries))
        managers = (self._produce, self._fetch, self._request, self._mutations)
        self.is_enabled = any(manager.is_enabled for manager in managers)
        self._of_addresses = {
            entity[0].name: limits[QuotaKind.CONNECTION]
            for entity, limits in entries
            if QuotaKind.CONNECTION in limits
        }
        for server in self._connections:
            server.use(self._of_addresses)

    def tell_of_addresses(self, connections: Sequence[ConnectionQuotas]) -> None:
        """Tells these from now on of the quotas of addresses."""
        self._connections = tuple(connections)
        for server in self._connections:
            server.use(self._of_addresses)

    def request_time(self, begin_ns: int | None = None) -> RequestTime | None:
        """Returns what measures a request that began then, or begins now; None where nothing does."""
        if self._clocks is None or not self.is_enabled:
            return None
        now_ns, busy_ns = self._clocks
        return RequestTime(now_ns() if begin_ns is None else begin_ns, now_ns, busy_ns)

    def charge_arrival(self, context: RequestContext, request_bytes: int) -> int:
        """Charges a produce with its bytes, before it is handled. Returns how long its client has to wait.

        Produces of a connection overlap: if they were charged when they are answered, as they are by Kafka, which takes
        one at a time, all that a client sends ahead would be started at the end of each wait, and it would write half
        as much again as its quota.
        """
        if context.time is None or not self._produce.is_enabled:
            return 0
        wait_ms = self._record(QuotaKind.PRODUCE, context, request_bytes, self._now_ms())
        context.time.arrival_wait_ms = wait_ms
        return wait_ms

    def charge(
        self, context: RequestContext, request: Message, *, request_bytes: int, busy_ns: int
    ) -> int:
        """Charges a request that has been handled. Returns how many milliseconds the client has to wait.

        `busy_ns`: the time that was spent on it, without that in which it waited.
        """
        key = context.header.request_api_key
        now_ms = self._now_ms()
        if context.connection.is_forwarded:
            return 0
        if key in _EXEMPT or (
            isinstance(request, FetchRequest) and fetching_replica(request) is not None
        ):
            if self._request.is_enabled:
                self._exempt.observe(busy_ns * _PERCENT_PER_NS, now_ms)
            return 0
        wait_ms = 0
        time = context.time
        if self._request.is_enabled and not (time is not None and time.is_charged):
            wait_ms = self._record(QuotaKind.REQUEST, context, busy_ns * _PERCENT_PER_NS, now_ms)
        if time is not None and time.arrival_wait_ms is not None:
            return max(wait_ms, time.arrival_wait_ms)
        if key == ApiKey.PRODUCE and self._produce.is_enabled:
            wait_ms = max(wait_ms, self._record(QuotaKind.PRODUCE, context, request_bytes, now_ms))
        return wait_ms

    @property
    def limits_fetch_bytes(self) -> bool:
        """Whether anybody has a quota of bytes of answers."""
        return self._fetch.is_enabled

    def charge_fetch(self, context: RequestContext, response_bytes: int) -> int:
        """Charges an answer of records, and the time that was spent on it so far.

        Returns how long the consumer has to wait, for whichever of the two: then it gets no records, and is
        not charged with their bytes.
        """
        wait_ms, now_ms = 0, self._now_ms()
        if self._request.is_enabled and context.time is not None:
            context.time.is_charged = True
            percent = context.time.spent_ns() * _PERCENT_PER_NS
            wait_ms = self._record(QuotaKind.REQUEST, context, percent, now_ms)
        if self._fetch.is_enabled:
            wait_ms = max(wait_ms, self._record(QuotaKind.FETCH, context, response_bytes, now_ms))
            if wait_ms:
                name, client_id = context.principal.name, context.client_id
                self._fetch.take_back(name, client_id, response_bytes, now_ms)
        return wait_ms

    def fetch_bytes_max(self, context: RequestContext) -> int:
        """Returns how many bytes a consumer can be sent at once: more would make it wait although it took
        nothing before, for ever.
        """
        largest = self._fetch.largest(context.principal.name, context.client_id)
        return _UNLIMITED if largest is None else int(min(_UNLIMITED, largest))

    def begin_mutations(self, caller: RequestContext | None) -> MutationCharge | None:
        """Returns what a request is charged with the partitions that it creates and
        deletes; None: no quota holds for it.
        """
        if caller is None or not self._mutations.is_enabled:
            return None
        strict_from = _STRICT_FROM.get(caller.header.request_api_key)
        if strict_from is None:
            return None
        is_strict = caller.version >= strict_from
        return self._mutations.begin(
            caller.principal.name, caller.client_id, self._now_ms(), is_strict=is_strict
        )

    def settle_mutations(self, caller: RequestContext, charge: MutationCharge) -> None:
        """Takes what a request was charged with, once its records are written."""
        user, client_id, now_ms = caller.principal.name, caller.client_id, self._now_ms()
        self._mutations.settle(user, client_id, charge, now_ms)
        counted, limit = self._mutations.limit(user, client_id)
        if charge.throttle_time_ms and limit is not None:
            held = Held(QuotaKind.CONTROLLER_MUTATION, counted)
            self.throttled.note(held, limit, charge.throttle_time_ms, now_ms)

    # What metrics tell

    def rates(self, kind: QuotaKind) -> Iterator[tuple[Counted, Rate]]:
        """Yields who has taken how much a second of bytes or request time, who took something last first."""
        return self._rates[kind].latest()

    def mutations(self) -> Iterator[tuple[Counted, Mutations]]:
        """Yields who has changed how many partitions a second, and how many more it may."""
        return self._mutations.latest()

    def exempt_percent(self, now_ms: int) -> float:
        """Returns the share of time that went to what nobody is charged with."""
        return self._exempt.per_second(now_ms)

    def _record(self, kind: QuotaKind, context: RequestContext, value: float, now_ms: int) -> int:
        user, client_id = context.principal.name, context.client_id
        rates = self._rates[kind]
        wait_ms = rates.record(user, client_id, value, now_ms)
        if wait_ms:
            counted, limit = rates.limit(user, client_id)
            assert limit is not None, "nobody waits without a quota"
            self.throttled.note(Held(kind, counted), limit, wait_ms, now_ms)
        return wait_ms

    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms
