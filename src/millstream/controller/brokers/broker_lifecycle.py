"""Brokers register, send heartbeats, are fenced and unfenced, and leave (KIP-631).

A broker's epoch is the offset of its registration record. It starts fenced, and is unfenced by the first heartbeat that has seen
its own registration. Who has sent a heartbeat when is soft state of this controller; everything else is records.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.controller.partitions.leadership import (
    leads_any,
    plan_broker_back,
    plan_broker_gone,
)
from millstream.controller.result import ControllerContext, ControllerResult
from millstream.controller.settings import ControllerSettings
from millstream.errors import (
    BrokerIdNotRegistered,
    DuplicateBrokerRegistration,
    InconsistentClusterId,
    InvalidRegistration,
    StaleBrokerEpoch,
    UnsupportedVersion,
)
from millstream.metadata.broker_registration import BrokerRegistration, SupportedVersionRange
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.directory_ids import assigned_directory
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.protocol.generated.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from millstream.protocol.generated.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from millstream.protocol.generated.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
)

_FENCED, _UNFENCED, _IN_CONTROLLED_SHUTDOWN = 1, -1, 1


@dataclass(slots=True)
class _Session:
    """One incarnation of a broker as this controller has seen it."""

    broker_epoch: int
    last_contact_ms: int
    metadata_offset: int = -1
    shutdown_offset: int | None = None
    """Offset at which its controlled shutdown began: every other broker has to have seen it."""
    contacted: bool = False


class BrokerSessions:
    """The sessions of brokers. Soft state: a controller that takes over starts a new session for every known broker."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._sessions: dict[BrokerId, _Session] = {}

    def start_all(self, image: MetadataImage, now_ms: int) -> None:
        self._sessions = {
            broker.broker_id: _Session(broker.broker_epoch, now_ms)
            for broker in image.brokers.values()
        }

    def note_contact(self, broker: BrokerRegistration, now_ms: int) -> None:
        """Extends the session of a broker; how far it has read the metadata is not known yet."""
        session = self._sessions.get(broker.broker_id)
        if session is not None and session.broker_epoch == broker.broker_epoch:
            session.last_contact_ms = now_ms

    def touch(
        self, broker_id: BrokerId, broker_epoch: int, metadata_offset: int, now_ms: int
    ) -> _Session:
        session = self._sessions.get(broker_id)
        if session is None or session.broker_epoch != broker_epoch:
            session = self._sessions[broker_id] = _Session(broker_epoch, now_ms)
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
            and now_ms < session.last_contact_ms + self._timeout_ms
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

    def lowest_active_offset(self, image: MetadataImage, without: BrokerId) -> int | None:
        """Returns the metadata offset that every other active broker has reached; None when there is no other."""
        return min(
            (
                self._sessions[b.broker_id].metadata_offset if b.broker_id in self._sessions else -1
                for b in image.brokers.values()
                if b.is_active and b.broker_id != without
            ),
            default=None,
        )

    def _deadline_ms(self, broker: BrokerRegistration, now_ms: int) -> int:
        session = self._sessions.get(broker.broker_id)
        if session is None or session.broker_epoch != broker.broker_epoch:
            session = self._sessions[broker.broker_id] = _Session(broker.broker_epoch, now_ms)
        return session.last_contact_ms + self._timeout_ms


def plan_registration(
    request: BrokerRegistrationRequest,
    image: MetadataImage,
    settings: ControllerSettings,
    sessions: BrokerSessions,
    context: ControllerContext,
) -> ControllerResult[BrokerRegistrationResponse]:
    """Registers a broker.

    Raises InconsistentClusterId, DuplicateBrokerRegistration, InvalidRegistration, UnsupportedVersion.
    """
    if request.cluster_id != settings.cluster_id:
        raise InconsistentClusterId(
            f"This is cluster {settings.cluster_id}, the broker belongs to {request.cluster_id}"
        )
    broker_id = BrokerId(request.broker_id)
    existing = image.brokers.get(broker_id)
    same = existing is not None and existing.incarnation_id == request.incarnation_id
    now_ms = context.now.monotonic_ms
    if (
        existing is not None
        and not same
        and not existing.fenced
        and sessions.is_live(existing, now_ms)
    ):
        raise DuplicateBrokerRegistration(
            f"Another broker with id {broker_id} is alive: give this one its own node.id"
        )
    _check_registration(request, image)
    broker_epoch = (
        existing.broker_epoch if existing is not None and same else int(context.next_offset)
    )
    record = RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=broker_epoch,
        fenced=existing.fenced if existing is not None and same else True,
        rack=request.rack,
        log_dirs=list(request.log_dirs),
        end_points=[
            BrokerEndpoint(
                name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol
            )
            for e in request.listeners
        ],
        features=[
            BrokerFeature(
                name=f.name,
                min_supported_version=f.min_supported_version,
                max_supported_version=f.max_supported_version,
            )
            for f in request.features
        ],
    )
    changes = [] if same else plan_broker_gone(image, broker_id)
    sessions.touch(broker_id, broker_epoch, -1, now_ms)
    return ControllerResult(
        (record, *changes), BrokerRegistrationResponse(broker_epoch=broker_epoch)
    )


def plan_heartbeat(
    request: BrokerHeartbeatRequest,
    image: MetadataImage,
    sessions: BrokerSessions,
    context: ControllerContext,
) -> ControllerResult[BrokerHeartbeatResponse]:
    """Returns the broker's next state. Raises BrokerIdNotRegistered, StaleBrokerEpoch."""
    broker = registered_broker(image, request.broker_id, request.broker_epoch)
    session = sessions.touch(
        broker.broker_id,
        broker.broker_epoch,
        request.current_metadata_offset,
        context.now.monotonic_ms,
    )
    caught_up = request.current_metadata_offset >= broker.broker_epoch
    response = BrokerHeartbeatResponse(is_caught_up=caught_up, is_fenced=broker.fenced)
    if broker.fenced:
        if request.want_shut_down:
            response.should_shut_down = True
        elif not request.want_fence and caught_up:
            response.is_fenced = False
            return ControllerResult(_unfence_records(image, broker), response)
        return ControllerResult((), response)
    if request.want_shut_down:
        return _controlled_shutdown(image, broker, session, sessions, context)
    if request.want_fence:
        response.is_fenced = True
        return ControllerResult(_fence_records(image, broker), response)
    return ControllerResult(tuple(_offline_directories(request, image, broker)), response)


def _offline_directories(
    request: BrokerHeartbeatRequest, image: MetadataImage, broker: BrokerRegistration
) -> list[MetadataRecord]:
    """The broker keeps its other directories; what it had in these gets other leaders, or none (KIP-858)."""
    offline = set(request.offline_log_dirs)
    online = [each for each in broker.log_directories if each not in offline]
    if len(online) == len(broker.log_directories):
        return []
    change = BrokerRegistrationChangeRecord(
        broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, log_dirs=list(online)
    )
    lost = plan_broker_gone(
        image,
        broker.broker_id,
        lambda partition: assigned_directory(partition, broker.broker_id) in offline,
    )
    return [change, *lost]


def plan_fence_expired(
    image: MetadataImage, sessions: BrokerSessions, context: ControllerContext
) -> ControllerResult[None]:
    """Fences one broker whose session has run out; the call for the next broker sees the metadata that this one changed."""
    expired = sessions.expired(image, context.now.monotonic_ms)
    return ControllerResult(_fence_records(image, expired[0]) if expired else (), None)


def registered_broker(
    image: MetadataImage, broker_id: int, broker_epoch: int
) -> BrokerRegistration:
    """Returns the registration that the request belongs to. Raises BrokerIdNotRegistered, StaleBrokerEpoch."""
    found = image.brokers.get(BrokerId(broker_id))
    if found is None:
        raise BrokerIdNotRegistered(f"Broker {broker_id} is not registered")
    if found.broker_epoch != broker_epoch:
        raise StaleBrokerEpoch(
            f"Broker {broker_id} registered anew with epoch {found.broker_epoch}, not {broker_epoch}"
        )
    return found


def _check_registration(request: BrokerRegistrationRequest, image: MetadataImage) -> None:
    if not request.listeners:
        raise InvalidRegistration("The broker names no listener that clients could reach")
    if len(set(request.log_dirs)) != len(request.log_dirs):
        raise InvalidRegistration("Two log directories of the broker have the same id")
    supported = {
        f.name: SupportedVersionRange(f.min_supported_version, f.max_supported_version)
        for f in request.features
    }
    for name, level in image.features.items():
        lowest, highest = supported.get(name, SupportedVersionRange(0, 0))
        if not lowest <= level <= highest:
            raise UnsupportedVersion(
                f"The cluster runs {name} at level {level}, the broker supports {lowest} to {highest}"
            )


def _controlled_shutdown(
    image: MetadataImage,
    broker: BrokerRegistration,
    session: _Session,
    sessions: BrokerSessions,
    context: ControllerContext,
) -> ControllerResult[BrokerHeartbeatResponse]:
    """First its leaderships go; once it has none and every other broker has seen that, it may stop."""
    response = BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False)
    if not broker.in_controlled_shutdown:
        session.shutdown_offset = int(context.next_offset)
        record = BrokerRegistrationChangeRecord(
            broker_id=broker.broker_id,
            broker_epoch=broker.broker_epoch,
            in_controlled_shutdown=_IN_CONTROLLED_SHUTDOWN,
        )
        return ControllerResult((record, *plan_broker_gone(image, broker.broker_id)), response)
    seen = sessions.lowest_active_offset(image, broker.broker_id)
    if leads_any(image, broker.broker_id) or (
        seen is not None and seen < (session.shutdown_offset or 0)
    ):
        return ControllerResult((), response)
    response.is_fenced = response.should_shut_down = True
    return ControllerResult(_fence_records(image, broker), response)


def _fence_records(image: MetadataImage, broker: BrokerRegistration) -> tuple[MetadataRecord, ...]:
    record = BrokerRegistrationChangeRecord(
        broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, fenced=_FENCED
    )
    return (record, *plan_broker_gone(image, broker.broker_id))


def _unfence_records(
    image: MetadataImage, broker: BrokerRegistration
) -> tuple[MetadataRecord, ...]:
    record = BrokerRegistrationChangeRecord(
        broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, fenced=_UNFENCED
    )
    return (record, *plan_broker_back(image, broker.broker_id))
