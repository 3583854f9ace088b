"""Counts the records that a process has lost, and names each loss once in its log."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final

from millstream.model import TopicPartition
from millstream.quoting import counted
from millstream.spark.source.data_loss import DataLossPolicy, Loss

_LOGGER = logging.getLogger(__name__)


@dataclass(slots=True)
class LossCounts:
    """Losses since a process began, by partition. Each is named once in the log."""

    losses: dict[TopicPartition, int] = field(default_factory=dict)
    records: dict[TopicPartition, int] = field(default_factory=dict)
    _last: dict[TopicPartition, Loss] = field(default_factory=dict)

    def add(self, loss: Loss, policy: DataLossPolicy) -> None:
        """Counts a loss, unless it is the one that was last added for the partition."""
        partition = loss.partition
        if self._last.get(partition) == loss:
            return
        self._last[partition] = loss
        self.losses[partition] = self.losses.get(partition, 0) + 1
        self.records[partition] = self.records.get(partition, 0) + (loss.records or 0)
        _LOGGER.warning(
            "%s; %s, going on at offset %d (failOnDataLoss=%s). Losses of %s so far: %d, of %d records",
            loss.what,
            "their number is not known"
            if loss.records is None
            else f"{counted(loss.records, 'record')} lost",
            loss.next_offset,
            policy.value,
            partition,
            self.losses[partition],
            self.records[partition],
        )


LOSSES: Final = LossCounts()
"""Those of this process: the one that plans, or a worker of Spark."""
