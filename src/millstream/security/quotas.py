"""How long a client must wait: the interface of quotas, and the only implementation, which sets no limit.

No request path asks yet, and every throttle time that clients are told is 0: quotas of users and client ids are stored and told
(`metadata`), and not enforced.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Protocol

from millstream.runtime.clock import Instant


class QuotaKind(Enum):
    """The measures that quotas limit; the values are the keys that ClientQuota records and AlterClientQuotas use."""

    PRODUCE = "producer_byte_rate"
    """Bytes of record batches received."""
    FETCH = "consumer_byte_rate"
    """Bytes of record batches sent."""
    REQUEST = "request_percentage"
    """Milliseconds of this node's time."""
    CONTROLLER_MUTATION = "controller_mutation_rate"
    """Partitions created or deleted (KIP-599)."""


class Quotas(Protocol):
    def throttle_ms(
        self, kind: QuotaKind, principal: str, client_id: str, amount: float, now: Instant
    ) -> int:
        """Counts `amount`, in the unit of `kind`, and says how long this client has to wait; 0 within its quota."""
        ...


class Unlimited:
    """Sets no limit, and ignores stored quotas."""

    def throttle_ms(
        self, kind: QuotaKind, principal: str, client_id: str, amount: float, now: Instant
    ) -> int:
        del kind, principal, client_id, amount, now
        return 0


UNLIMITED: Final = Unlimited()
