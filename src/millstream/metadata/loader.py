"""From committed batches of the metadata log to images: one image a batch, none in the middle of a transaction.

Owns metadata transactions (KIP-868): what stands between BeginTransaction and EndTransaction becomes visible at once,
what an AbortTransaction ends never does. Reads no log: batches are handed in, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.metadata.delta import MetadataDelta, MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.metadata.image_difference import difference
from millstream.model import LeaderEpoch, Offset
from millstream.protocol.generated.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)


@dataclass(frozen=True, slots=True)
class MetadataBatch:
    """A committed batch: `records[n]` has offset `base_offset + n`.

    A control batch has no records, only a `last_offset`.
    """

    base_offset: Offset
    last_offset: Offset
    epoch: LeaderEpoch
    records: Sequence[MetadataRecord] = ()


@dataclass(frozen=True, slots=True)
class PublishedImage:
    """A step forward: the delta that was applied and the image it led to."""

    delta: MetadataDelta
    image: MetadataImage


class MetadataLoader:
    """Replays batches; `image` is always at a boundary that readers may see."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self._transaction: MetadataDelta | None = None

    @property
    def transaction_open(self) -> bool:
        """Whether the log ends inside a metadata transaction."""
        return self._transaction is not None

    def replay(self, batch: MetadataBatch) -> list[PublishedImage]:
        """Returns the images this batch makes visible, in order; none while a transaction is open."""
        assert batch.base_offset > self.image.offset, (
            f"batch at {batch.base_offset} comes after the image is at {self.image.offset} already"
        )
        published: list[PublishedImage] = []
        delta = self._transaction or MetadataDelta(self.image)
        for position, record in enumerate(batch.records):
            match record:
                case BeginTransactionRecord():
                    assert self._transaction is None, "a metadata transaction begins inside another"
                    if position:
                        offset = Offset(batch.base_offset + position - 1)
                        published.append(self._publish(delta, offset, batch.epoch))
                    delta = self._transaction = MetadataDelta(self.image)
                case EndTransactionRecord():
                    assert self._transaction is not None, (
                        "a metadata transaction ends that never began"
                    )
                    self._transaction = None
                case AbortTransactionRecord():
                    assert self._transaction is not None, (
                        "a metadata transaction is aborted that never began"
                    )
                    self._transaction = None
                    delta = MetadataDelta(self.image)
                case _:
                    delta.replay(record)
        if self._transaction is None:
            published.append(self._publish(delta, batch.last_offset, batch.epoch))
        return published

    def install(self, image: MetadataImage) -> PublishedImage:
        """Takes the image of a snapshot in place of the log up to its end.

        A transaction that is open ends: a snapshot is taken in none.
        """
        delta = MetadataDelta(self.image)
        for record in difference(self.image, image):
            delta.replay(record)
        self._transaction = None
        return self._publish(delta, image.offset, image.epoch)

    def _publish(self, delta: MetadataDelta, offset: Offset, epoch: LeaderEpoch) -> PublishedImage:
        self.image = delta.image(offset, epoch)
        return PublishedImage(delta, self.image)
