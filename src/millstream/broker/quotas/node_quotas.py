"""The quotas of one node: the limits of the metadata image, and what clients have taken here.

Each broker counts for itself, as in Kafka: a quota of 1 MB a second is 1 MB a second of every broker. Of bytes and request time the
longer wait counts. Requests that come in envelopes were charged by the broker that passed them on; changes of metadata are charged where
the controller is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from millstream.broker.fetch.fetch_sessions import fetching_replica
from millstream.broker.requests.request_context import RequestContext
from millstream.metadata.stored_security import QuotaEntity
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.fetch import FetchRequest
from millstream.quota.client_quota_manager import (
    ClientQuotaManager,
    ControllerMutationQuotaManager,
)
from millstream.quota.client_quotas import ClientQuotas
from millstream.quota.mutation_charge import MutationCharge
from millstream.quota.rate import QuotaWindows
from millstream.runtime import Clock

_EXEMPT: Final = frozenset(
    {
        ApiKey.ALTER_PARTITION, ApiKey.BEGIN_QUORUM_EPOCH, ApiKey.END_QUORUM_EPOCH, ApiKey.ENVELOPE, ApiKey.FETCH_SNAPSHOT,
        ApiKey.UPDATE_RAFT_VOTER, ApiKey.VOTE, ApiKey.WRITE_TXN_MARKERS,
    }
)  # fmt: skip
"""What nodes ask of each other, and what makes others wait if it waits (`sendResponseExemptThrottle`); fetches of followers, too."""
_STRICT_FROM: Final[Mapping[int, int]] = {
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.CREATE_TOPICS: 6,
    ApiKey.DELETE_TOPICS: 5,
}
"""What changes partitions, and the version from which clients know THROTTLING_QUOTA_EXCEEDED (KIP-599)."""
_PERCENT_PER_NS: Final = 100 / 1_000_000_000
"""100 is all the time of the one loop that serves requests."""
_UNLIMITED: Final = (1 << 31) - 1


@final
class NodeQuotas:
    """Charges requests of clients. Used on the loop alone.

    At the time of the charge, as Kafka: requests that wait end in another order than they came, and a rate never goes back in time.
    """

    def __init__(self, windows: QuotaWindows, mutation_windows: QuotaWindows, clock: Clock) -> None:
        self._clock = clock
        self._produce = ClientQuotaManager(windows)
        self._fetch = ClientQuotaManager(windows)
        self._request = ClientQuotaManager(windows, throttle_time_max_ms=windows.size_ms)
        self._mutations = ControllerMutationQuotaManager(mutation_windows)
        self.is_enabled = False
        """Whether there is any quota of clients: read for each request, so a field."""

    def use(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Takes over the quotas of a metadata image."""
        entries = list(quotas.items())
        self._produce.change_quotas(ClientQuotas.of("producer_byte_rate", entries))
        self._fetch.change_quotas(ClientQuotas.of("consumer_byte_rate", entries))
        self._request.change_quotas(ClientQuotas.of("request_percentage", entries))
        self._mutations.change_quotas(ClientQuotas.of("controller_mutation_rate", entries))
        managers = (self._produce, self._fetch, self._request, self._mutations)
        self.is_enabled = any(manager.is_enabled for manager in managers)

    def charge(
        self, context: RequestContext, request: Message, *, request_bytes: int, busy_ns: int
    ) -> int:
        """Charges a request that has been handled. Returns how many milliseconds the client has to wait.

        `busy_ns`: the time that was spent on it, without that in which it waited.
        """
        key = context.header.request_api_key
        if context.connection.is_forwarded or key in _EXEMPT:
            return 0
        if isinstance(request, FetchRequest) and fetching_replica(request) is not None:
            return 0
        user, client_id, now_ms = context.principal.name, context.client_id, self._now_ms()
        wait_ms = 0
        if self._request.is_enabled:
            wait_ms = self._request.record(user, client_id, busy_ns * _PERCENT_PER_NS, now_ms)
        if key == ApiKey.PRODUCE and self._produce.is_enabled:
            wait_ms = max(wait_ms, self._produce.record(user, client_id, request_bytes, now_ms))
        return wait_ms

    def charge_fetch(self, context: RequestContext, response_bytes: int) -> int:
        """Charges an answer of records. Returns how long the consumer has to wait; then it gets none, and is not charged."""
        if not self._fetch.is_enabled:
            return 0
        user, client_id, now_ms = context.principal.name, context.client_id, self._now_ms()
        wait_ms = self._fetch.record(user, client_id, response_bytes, now_ms)
        if wait_ms:
            self._fetch.take_back(user, client_id, response_bytes, now_ms)
        return wait_ms

    def fetch_bytes_max(self, context: RequestContext) -> int:
        """Returns how many bytes a consumer can be sent at once: more would make it wait although it took nothing before, for ever."""
        largest = self._fetch.largest(context.principal.name, context.client_id)
        return _UNLIMITED if largest is None else min(_UNLIMITED, int(largest))

    def begin_mutations(self, caller: RequestContext | None) -> MutationCharge | None:
        """Returns what a request is charged with the partitions that it creates and deletes; None: no quota holds for it."""
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
        self._mutations.settle(caller.principal.name, caller.client_id, charge, self._now_ms())

    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms
