"""Brokers send heartbeats, are fenced and unfenced, and leave (KIP-631).

A broker starts fenced, and is unfenced by the first heartbeat that has seen its own registration. Who has sent a
heartbeat when is soft state of this controller; everything else is records. Where a broker leaves, its partitions'
changes come before its own record; where it comes, or begins to leave, behind it: so does Kafka.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.controller.brokers.log_lines import change_lines
from millstream.controller.partitions.leadership import (
    leads_any,
    plan_broker_back,
    plan_broker_gone,
    plan_directories_lost,
)
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.controller.result import ControllerContext, ControllerResult
from millstream.errors import StaleBrokerEpoch
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import Capability, can
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.protocol.generated.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from millstream.protocol.generated.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
)

_FENCED: Final = 1
_UNFENCED: Final = -1
_IN_CONTROLLED_SHUTDOWN: Final = 1


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


def plan_heartbeat(
    request: BrokerHeartbeatRequest,
    changes: PartitionChanges,
    sessions: BrokerSessions,
    context: ControllerContext,
) -> ControllerResult[BrokerHeartbeatResponse]:
    """Returns the broker's next state. Raises StaleBrokerEpoch."""
    broker = registered_broker(changes.image, request.broker_id, request.broker_epoch)
    session = sessions.touch(
        broker.broker_id,
        broker.broker_epoch,
        request.current_metadata_offset,
        context.now.monotonic_ms,
    )
    response = BrokerHeartbeatResponse(
        is_caught_up=request.current_metadata_offset >= session.registration_offset,
        is_fenced=broker.fenced,
    )
    records: list[MetadataRecord] = []
    if broker.fenced:
        if request.want_shut_down:
            response.should_shut_down = True
        elif not request.want_fence and response.is_caught_up:
            response.is_fenced = False
            records += _unfence_records(changes, broker)
    elif request.want_fence:
        response.is_fenced, response.should_shut_down = True, request.want_shut_down
        records += _fence_records(changes, broker)
    elif request.want_shut_down:
        records += _controlled_shutdown(changes, broker, sessions, context, response)
    records += _directory_records(request, changes, broker, records)
    why = "its controlled shutdown is complete" if request.want_shut_down else "it asked for it"
    return ControllerResult(tuple(records), response, log_lines=change_lines(broker, records, why))


def _directory_records(
    request: BrokerHeartbeatRequest,
    changes: PartitionChanges,
    broker: BrokerRegistration,
    planned: list[MetadataRecord],
) -> list[MetadataRecord]:
    """What the heartbeat tells of directories: what was in failed ones gets other leaders, or none (KIP-858);
    cordoned ones get nothing new.
    """
    records: list[MetadataRecord] = []
    offline = set(request.offline_log_dirs)
    online = [each for each in broker.log_directories if each not in offline]
    # A partition is changed once a plan: the next heartbeat tells it again.
    changes_partitions = any(isinstance(each, PartitionChangeRecord) for each in planned)
    if len(online) < len(broker.log_directories) and not changes_partitions:
        records += plan_directories_lost(changes, broker.broker_id, offline)
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, log_dirs=list(online)
            )
        )
    cordoned = request.cordoned_log_dirs
    if cordoned is None or not can(changes.image, Capability.CORDONED_DIRECTORIES):
        return records
    known = broker.cordoned_log_directories
    if known is None or set(cordoned) != set(known):
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=broker.broker_id,
                broker_epoch=broker.broker_epoch,
                cordoned_log_dirs=list(cordoned),
            )
        )
    return records


def plan_fence_expired(
    changes: PartitionChanges, sessions: BrokerSessions, context: ControllerContext
) -> ControllerResult[None]:
    """Fences one broker whose session has run out; the call for the next broker sees the
    metadata that this one changed.
    """
    expired = sessions.expired(changes.image, context.now.monotonic_ms)
    if not expired:
        return ControllerResult((), None)
    records = _fence_records(changes, expired[0])
    why = (
        f"no heartbeat for {sessions.silent_ms(expired[0], context.now.monotonic_ms)} ms, "
        f"its session is {sessions.timeout_ms} ms (broker.session.timeout.ms)"
    )
    lines = change_lines(expired[0], records, why)
    return ControllerResult(tuple(records), None, log_lines=lines, timed_out_brokers=1)


def registered_broker(
    image: MetadataImage, broker_id: int, broker_epoch: int
) -> BrokerRegistration:
    """Returns the registration that the request belongs to.

    Raises StaleBrokerEpoch, as Kafka does for a broker that it does not know, too.
    """
    found = image.brokers.get(BrokerId(broker_id))
    if found is None:
        raise StaleBrokerEpoch(f"No broker registration found for broker id {broker_id}")
    if found.broker_epoch != broker_epoch:
        raise StaleBrokerEpoch(
            f"Broker {broker_id} registered anew with epoch {found.broker_epoch}, not {broker_epoch}"
        )
    return found


def _controlled_shutdown(
    changes: PartitionChanges,
    broker: BrokerRegistration,
    sessions: BrokerSessions,
    context: ControllerContext,
    response: BrokerHeartbeatResponse,
) -> list[MetadataRecord]:
    """First its leaderships go; once it has none and every other broker has seen that, it may stop."""
    image, broker_id = changes.image, broker.broker_id
    leads = leads_any(image, broker_id)
    if not broker.in_controlled_shutdown and leads:
        sessions.shut_down_from(broker, int(context.next_offset), context.now.monotonic_ms)
        record = BrokerRegistrationChangeRecord(
            broker_id=broker_id,
            broker_epoch=broker.broker_epoch,
            in_controlled_shutdown=_IN_CONTROLLED_SHUTDOWN,
        )
        return [record, *plan_broker_gone(changes, broker_id)]
    if leads or not sessions.others_have_seen_shutdown(image, broker):
        return []
    response.is_fenced = response.should_shut_down = True
    return _fence_records(changes, broker)


def _fence_records(changes: PartitionChanges, broker: BrokerRegistration) -> list[MetadataRecord]:
    record = BrokerRegistrationChangeRecord(
        broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, fenced=_FENCED
    )
    return [*plan_broker_gone(changes, broker.broker_id), record]


def _unfence_records(changes: PartitionChanges, broker: BrokerRegistration) -> list[MetadataRecord]:
    record = BrokerRegistrationChangeRecord(
        broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, fenced=_UNFENCED
    )
    return [record, *plan_broker_back(changes, broker.broker_id)]
