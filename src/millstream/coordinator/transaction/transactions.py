"""The transactional ids of one shard.

Hard state: only the replay of records changes it, but for the epochs that `remember_last_epoch` keeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from millstream.coordinator.transaction.transaction import NO_EPOCH, TransactionMetadata
from millstream.errors import InvalidProducerIdMapping, PolicyViolation

TRANSACTIONAL_IDS_MAX: Final = 100_000
"""Of one partition of `__transaction_state`, of which there are fifty: 26 MB as measured (tracemalloc, ids of 25
characters, no partitions). Kafka has no such bound. An application that takes a new id for each transaction, one in ten
seconds, has 60,480 when they begin to expire (`transactional.id.expiration.ms`, seven days by default)."""

TRANSACTIONAL_ID_BYTES_MAX: Final = 32 * 1024 * 1024
"""Of all of them: one may have 32 KB."""


class Transactions:
    def __init__(self, ids_max: int = TRANSACTIONAL_IDS_MAX) -> None:
        self.ids_max = ids_max
        self.id_bytes = 0
        self._by_id: dict[str, TransactionMetadata] = {}
        self._last_epochs: dict[str, int] = {}

    def __iter__(self) -> Iterator[TransactionMetadata]:
        return iter(self._by_id.values())

    def find(self, transactional_id: str) -> TransactionMetadata | None:
        return self._by_id.get(transactional_id)

    def get(self, transactional_id: str) -> TransactionMetadata:
        """Returns the transaction of a transactional id. Raises InvalidProducerIdMapping."""
        found = self._by_id.get(transactional_id)
        if found is None:
            raise InvalidProducerIdMapping(
                f"transactional id {transactional_id} has no producer id: send InitProducerId first"
            )
        return found

    def check_has_room(self) -> None:
        """Raises PolicyViolation where no other transactional id can be remembered."""
        if len(self._by_id) >= self.ids_max or self.id_bytes >= TRANSACTIONAL_ID_BYTES_MAX:
            raise PolicyViolation(
                f"this coordinator knows {len(self._by_id)} transactional ids of {self.id_bytes} characters already; use fewer, or let them expire sooner "
                "(transactional.id.expiration.ms)",
                bound="transactional ids",
            )

    def put(self, transaction: TransactionMetadata) -> None:
        if transaction.transactional_id not in self._by_id:
            self.id_bytes += len(transaction.transactional_id)
        self._by_id[transaction.transactional_id] = transaction

    def remove(self, transactional_id: str) -> None:
        if self._by_id.pop(transactional_id, None) is not None:
            self.id_bytes -= len(transactional_id)
        self._last_epochs.pop(transactional_id, None)

    # Soft state: not in the log, so a coordinator that takes over does not know it

    def last_epoch(self, transactional_id: str) -> int:
        """Returns the epoch whose producer asked for the present one (KIP-360): its request may come twice.

        -1: none.
        """
        return self._last_epochs.get(transactional_id, NO_EPOCH)

    def remember_last_epoch(self, transactional_id: str, epoch: int) -> None:
        """NO_EPOCH forgets it. Operations use that of their context."""
        if epoch == NO_EPOCH:
            self._last_epochs.pop(transactional_id, None)
        else:
            self._last_epochs[transactional_id] = epoch
