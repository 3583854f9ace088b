"""Counts the partitions that the controller has to look at for a request, before anything of it is planned."""

from __future__ import annotations

from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.protocol.generated.alter_partition import AlterPartitionRequest
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from millstream.protocol.generated.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.generated.broker_registration import BrokerRegistrationRequest
from millstream.protocol.generated.create_partitions import CreatePartitionsRequest
from millstream.protocol.generated.create_topics import CreateTopicsRequest
from millstream.protocol.generated.elect_leaders import ElectLeadersRequest
from millstream.protocol.generated.unregister_broker import UnregisterBrokerRequest


def partitions_concerned(request: object, image: MetadataImage) -> int:
    """Returns an upper bound; 0 for requests that are about no partitions.

    `None` is what the controller asks of itself when time has passed.
    """
    match request:
        case CreateTopicsRequest():
            return sum(max(len(each.assignments), each.num_partitions) for each in request.topics)
        case CreatePartitionsRequest():
            return sum(each.count for each in request.topics)
        case AlterPartitionRequest() | AlterPartitionReassignmentsRequest():
            return sum(len(each.partitions) for each in request.topics)
        case AssignReplicasToDirsRequest():
            return sum(
                len(topic.partitions)
                for directory in request.directories
                for topic in directory.topics
            )
        case ElectLeadersRequest() if request.topic_partitions is not None:
            return sum(len(each.partitions) for each in request.topic_partitions)
        case BrokerHeartbeatRequest() if not _may_change_leaders(request, image):
            return 0
        case (
            BrokerHeartbeatRequest()
            | BrokerRegistrationRequest()
            | ElectLeadersRequest()
            | UnregisterBrokerRequest()
            | None
        ):
            return sum(len(topic.partitions) for topic in image.topics)
        case _:
            return 0


def _may_change_leaders(request: BrokerHeartbeatRequest, image: MetadataImage) -> bool:
    """Most heartbeats only say that the broker lives."""
    broker = image.brokers.get(BrokerId(request.broker_id))
    asks = request.want_shut_down or request.want_fence or bool(request.offline_log_dirs)
    return broker is not None and (broker.fenced or asks)
