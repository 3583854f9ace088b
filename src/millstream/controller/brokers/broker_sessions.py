"""The sessions of brokers, soft state of the active controller: when each was heard of, and how far it has read."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId


@dataclass(slots=True)
class _Session:
    """One incarnation of a broker as this controller has seen it."""

    broker_epoch: int
    last_contact_ms: int
    registration_offset: int
    """Offset of its registration, which stands behind the changes that it led to: who has read that has caught up."""
    metadata_offset: int = -1
    shutdown_offset: int | None = None
    """Offset at which its controlled shutdown began: every other broker has to have seen it."""
    contacted: bool = False


class BrokerSessions:
    """The sessions of brokers. Soft state: a controller that takes over starts a new session for every known broker."""

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self._sessions: dict[BrokerId, _Session] = {}

    def start_all(self, image: MetadataImage, now_ms: int) -> None:
        """The offsets of registrations are not in the image: a broker that is fenced has to read
        all that there is now.
        """
        self._sessions = {
            broker.broker_id: _Session(
                broker.broker_epoch, now_ms, image.offset if broker.fenced else broker.broker_epoch
            )
            for broker in image.brokers.values()
        }

    def begin(
        self, broker_id: BrokerId, broker_epoch: int, registration_offset: int, now_ms: int
    ) -> None:
        """Begins the session of a broker that registers."""
        session = self._sessions[broker_id] = _Session(broker_epoch, now_ms, registration_offset)
        session.contacted = True

    def note_contact(self, broker: BrokerRegistration, now_ms: int) -> None:
        """Extends the session of a broker; how far it has read the metadata is not known yet."""
        session = self._sessions.get(broker.broker_id)
        if session is not None and session.broker_epoch == broker.broker_epoch:
            session.last_contact_ms = now_ms

    def touch(
        self, broker_id: BrokerId, broker_epoch: int, metadata_offset: int, now_ms: int
    ) -> _Session:
        session = self._session(broker_id, broker_epoch, now_ms)
        session.last_contact_ms = now_ms
        session.metadata_offset = metadata_offset
        session.contacted = True
        return session

    def is_live(self, registration: BrokerRegistration, now_ms: int) -> bool:
        """Whether this incarnation was in contact within the session timeout."""
        session = self._sessions.get(registration.broker_id)
        return (
            session is not None
            and session.contacted
            and session.broker_epoch == registration.broker_epoch
            and now_ms < session.last_contact_ms + self.timeout_ms
        )

    def expired(self, image: MetadataImage, now_ms: int) -> list[BrokerRegistration]:
        return [
            broker
            for broker in image.brokers.values()
            if not broker.fenced and now_ms >= self._deadline_ms(broker, now_ms)
        ]

    def next_deadline_ms(self, image: MetadataImage, now_ms: int) -> int | None:
        """Returns the time at which the first session runs out; None when no broker is unfenced."""
        return min(
            (self._deadline_ms(b, now_ms) for b in image.brokers.values() if not b.fenced),
            default=None,
        )

    def shut_down_from(self, broker: BrokerRegistration, offset: int, now_ms: int) -> None:
        """Notes at which offset the controlled shutdown of a broker begins."""
        self._session(broker.broker_id, broker.broker_epoch, now_ms).shutdown_offset = offset

    def others_have_seen_shutdown(self, image: MetadataImage, broker: BrokerRegistration) -> bool:
        """Whether every other active broker has read that this one stops; one that led nothing has nothing to tell."""
        shutdown_offset = self._sessions[broker.broker_id].shutdown_offset or 0
        return all(
            each.broker_id in self._sessions
            and self._sessions[each.broker_id].metadata_offset >= shutdown_offset
            for each in image.brokers.values()
            if each.is_active and each.broker_id != broker.broker_id
        )

    def _deadline_ms(self, broker: BrokerRegistration, now_ms: int) -> int:
        return now_ms - self.silent_ms(broker, now_ms) + self.timeout_ms

    def silent_ms(self, broker: BrokerRegistration, now_ms: int) -> int:
        """Returns the time since the last contact of a broker, or since this controller waits for it."""
        return now_ms - self._session(broker.broker_id, broker.broker_epoch, now_ms).last_contact_ms

    def silences_ms(self, image: MetadataImage, now_ms: int) -> dict[BrokerId, int]:
        return {
            broker.broker_id: self.silent_ms(broker, now_ms) for broker in image.brokers.values()
        }

    def _session(self, broker_id: BrokerId, broker_epoch: int, now_ms: int) -> _Session:
        session = self._sessions.get(broker_id)
        if session is None or session.broker_epoch != broker_epoch:
            session = self._sessions[broker_id] = _Session(broker_epoch, now_ms, broker_epoch)
        return session
