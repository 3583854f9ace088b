"""The result of a controller request, and the readings that a request may use besides its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from millstream.metadata.delta import MetadataRecord
from millstream.model import Offset
from millstream.quota.mutation_charge import MutationCharge
from millstream.runtime.clock import Instant
from millstream.runtime.random import Random
from millstream.security.principal import ANONYMOUS, KafkaPrincipal

ResponseT_co = TypeVar("ResponseT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """Readings of the moment a request is handled."""

    now: Instant
    random: Random
    next_offset: Offset
    """Offset that the first record of the result will have: a broker's epoch is the offset of its registration."""
    principal: KafkaPrincipal = ANONYMOUS
    """The principal that asks."""
    kraft_version: int = 1
    """0 where the configuration names the voters of the metadata quorum, 1 where its log does."""
    mutations: MutationCharge | None = None
    """What the request is charged with partitions that it creates and deletes; None: there is no quota for who asks."""

    def charge(self, partitions: int) -> None:
        """Charges partitions. Raises ThrottlingQuotaExceeded where the quota is used up."""
        if self.mutations is not None:
            self.mutations.take(partitions)

    @property
    def throttle_time_ms(self) -> int:
        """The time that the client has to wait for what was charged."""
        return 0 if self.mutations is None else self.mutations.throttle_time_ms


@dataclass(frozen=True, slots=True)
class ControllerResult(Generic[ResponseT_co]):
    """Records to append as one batch, and the answer that is true once they are committed. Nothing has changed yet."""

    records: tuple[MetadataRecord, ...]
    response: ResponseT_co
    upgrades_kraft_version: bool = False
    """Whether the voters of the quorum are written to its log first: they are no metadata records,
    which are the controller's."""
    log_lines: tuple[str, ...] = ()
    """What becomes of brokers by it, for the log of the node."""
    timed_out_brokers: int = 0
    """How many brokers the records fence because they are silent."""
