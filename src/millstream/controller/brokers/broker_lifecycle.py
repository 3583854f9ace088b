"""Brokers send heartbeats, are fenced and unfenced, and leave (KIP-631).

A broker starts fenced, and is unfenced by the first heartbeat that has seen its own registration. Who has sent a
heartbeat when is soft state (`broker_sessions`); everything else is records. Where a broker leaves, its partitions'
changes come before its own record; where it comes, or begins to leave, behind it: so does Kafka.
"""

from __future__ import annotations

from typing import Final

from millstream.controller.brokers.log_lines import change_lines
from millstream.controller.operation import (
    ControllerApi,
    ControllerContext,
    ControllerResult,
    every_partition,
)
from millstream.controller.partitions.leadership import (
    leads_any,
    plan_broker_back,
    plan_broker_gone,
    plan_directories_lost,
)
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.errors import StaleBrokerEpoch
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import Capability, can
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
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


def plan_heartbeat(
    context: ControllerContext, request: BrokerHeartbeatRequest
) -> ControllerResult[BrokerHeartbeatResponse]:
    """Returns the broker's next state. Raises StaleBrokerEpoch."""
    changes = context.partition_changes()
    broker = registered_broker(changes.image, request.broker_id, request.broker_epoch)
    session = context.sessions.touch(
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
        records += _controlled_shutdown(context, changes, broker, response)
    records += _directory_records(request, changes, broker, records)
    why = "its controlled shutdown is complete" if request.want_shut_down else "it asked for it"
    return ControllerResult(tuple(records), response, log_lines=change_lines(broker, records, why))


def _partitions(request: BrokerHeartbeatRequest, image: MetadataImage) -> int:
    """Most heartbeats only say that the broker lives; others may change leaders."""
    broker = image.brokers.get(BrokerId(request.broker_id))
    asks = request.want_shut_down or request.want_fence or bool(request.offline_log_dirs)
    return every_partition(request, image) if broker and (broker.fenced or asks) else 0


BROKER_HEARTBEAT: Final = ControllerApi(ApiKey.BROKER_HEARTBEAT, plan_heartbeat, _partitions)


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


def plan_fence_expired(context: ControllerContext, _request: None) -> ControllerResult[None]:
    """Fences one broker whose session has run out; the call for the next broker sees the
    metadata that this one changed.
    """
    changes, sessions = context.partition_changes(), context.sessions
    expired = sessions.expired(context.image, context.now.monotonic_ms)
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
    context: ControllerContext,
    changes: PartitionChanges,
    broker: BrokerRegistration,
    response: BrokerHeartbeatResponse,
) -> list[MetadataRecord]:
    """First its leaderships go; once it has none and every other broker has seen that, it may stop."""
    image, broker_id = changes.image, broker.broker_id
    leads = leads_any(image, broker_id)
    if not broker.in_controlled_shutdown and leads:
        context.sessions.shut_down_from(broker, int(context.next_offset), context.now.monotonic_ms)
        record = BrokerRegistrationChangeRecord(
            broker_id=broker_id,
            broker_epoch=broker.broker_epoch,
            in_controlled_shutdown=_IN_CONTROLLED_SHUTDOWN,
        )
        return [record, *plan_broker_gone(changes, broker_id)]
    if leads or not context.sessions.others_have_seen_shutdown(image, broker):
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
