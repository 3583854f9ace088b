"""The controller of a cluster: the newest metadata, which replayed records alone change.

Owns the image of every record it has written, committed or not, and which brokers were heard of. What it decides is in
the modules beside it: an operation (`operation.py`) takes that image and gives records. Only the leader of the metadata
quorum runs one; a new leader builds its own from the committed records.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from millstream.controller.brokers.broker_sessions import BrokerSessions
from millstream.controller.settings import ControllerSettings
from millstream.metadata.delta import MetadataDelta, MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.generated.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from millstream.security.delegation_token import TokenIds

_TRANSACTION_RECORDS: Final = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)
"""A controller's transactions are whole batches, and one that it aborts was never replayed there."""


class Controller:
    """An operation leaves the controller as it is; the caller appends its records and replays them, in this order:
    append, `replay` each record, answer once they are committed.
    """

    def __init__(
        self, image: MetadataImage, settings: ControllerSettings, epoch: LeaderEpoch
    ) -> None:
        """`image` holds every committed record; `epoch` is that of this controller's leadership."""
        self._image = image
        self.settings = settings
        self._epoch = epoch
        self._offset = image.offset
        self._delta: MetadataDelta | None = None
        self.sessions = BrokerSessions(settings.broker_session_timeout_ms)
        secret_key = settings.delegation_tokens.secret_key
        self.token_ids = None if secret_key is None else TokenIds(secret_key)

    @property
    def image(self) -> MetadataImage:
        """Everything replayed so far."""
        if self._delta is not None:
            self._image = self._delta.image(self._offset, self._epoch)
            self._delta = None
        return self._image

    def image_after(
        self, image: MetadataImage, last_offset: Offset, records: Iterable[MetadataRecord]
    ) -> MetadataImage:
        """Returns `image` with `records` on top of it.

        Changes nothing, so a thread may do it; `adopt` then takes the place of `replay`.
        """
        delta = MetadataDelta(image)
        for record in records:
            if not isinstance(record, _TRANSACTION_RECORDS):
                delta.replay(record)
        return delta.image(last_offset, self._epoch)

    def adopt(self, image: MetadataImage) -> None:
        """Takes over the image that `image_after` made from the newest image."""
        assert image.offset > self._offset, f"image {image.offset} is adopted after {self._offset}"
        self._image, self._offset, self._delta = image, image.offset, None

    def replay(self, offset: Offset, record: MetadataRecord) -> None:
        """Changes the newest image, as `adopt` does and nothing else. Records come in the order of the log."""
        assert offset > self._offset, f"record {offset} is replayed after {self._offset}"
        self._offset = offset
        if isinstance(record, _TRANSACTION_RECORDS):
            return
        if self._delta is None:
            self._delta = MetadataDelta(self._image)
        self._delta.replay(record)

    def note_contact(self, request: BrokerHeartbeatRequest, now_ms: int) -> None:
        """Takes note that a registered broker lives, before its heartbeat is handled."""
        broker = self.image.brokers.get(BrokerId(request.broker_id))
        if broker is not None and broker.broker_epoch == request.broker_epoch:
            self.sessions.note_contact(broker, now_ms)

    def session_deadline_ms(self, now_ms: int) -> int | None:
        """Returns the monotonic time at which a broker has to be fenced unless it is heard
        of; None when none is unfenced.
        """
        return self.sessions.next_deadline_ms(self.image, now_ms)

    def silences_ms(self, now_ms: int) -> dict[BrokerId, int]:
        """Returns how long ago each registered broker was last heard of; since when it is
        waited for where it never was.
        """
        return self.sessions.silences_ms(self.image, now_ms)
