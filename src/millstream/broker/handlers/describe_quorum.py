"""DescribeQuorum: who leads the metadata quorum, who votes in it, and how far each of them has got (KIP-595, KIP-836).

Versions 0-2. Asked for partition 0 of `__cluster_metadata` alone; anything else is UNKNOWN_TOPIC_OR_PARTITION in its
place, the partition too when more is asked for with it. 1+ tells when each replica was last heard of, 2 directory ids
and endpoints. Where nobody leads, each node says at once what it knows of that, as NOT_LEADER_OR_FOLLOWER, and clients
ask again; a broker of Kafka is silent until its client gives up, who does not learn whom the quorum lacks.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient, Metadata
from millstream.errors import NotLeaderOrFollower, UnknownTopicOrPartition
from millstream.metadata.topic_names import CLUSTER_METADATA_TOPIC
from millstream.model import ZERO_UUID
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    Node,
    ReplicaState,
)
from millstream.raft.quorum_description import ReplicaDescription
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.DESCRIBE_QUORUM,
    versions=range(3),
    permissions=(cluster_permission(Operation.DESCRIBE),),
    is_forwarded=True,
    lists=(Lists(("topics", "partitions"), ("topics", "partitions")),),
)

_KNOWS_TIMES: Final = 1
_KNOWS_DIRECTORIES: Final = 2
_THE_QUORUM: Final = DescribeQuorumRequestTopicData(
    CLUSTER_METADATA_TOPIC, [DescribeQuorumRequestPartitionData(0)]
)


def handle(
    request: DescribeQuorumRequest,
    context: RequestContext,
    *,
    controller: ControllerClient,
    metadata: Metadata,
) -> DescribeQuorumResponse | Awaitable[Message]:
    """Describes the quorum where its leader is this node; other nodes ask that one.

    Raises NotController, NotLeaderOrFollower.
    """
    if not controller.leads():
        quorum = controller.quorum()
        if not quorum.own.hears_leader:
            raise NotLeaderOrFollower(quorum.without_leader())
        return controller.forward(ApiKey.DESCRIBE_QUORUM, request, context)
    if request.topics != [_THE_QUORUM]:
        return DescribeQuorumResponse(topics=[_unknown(topic) for topic in request.topics])
    partition = _described(context, controller=controller)
    response = DescribeQuorumResponse(
        topics=[DescribeQuorumResponseTopicData(CLUSTER_METADATA_TOPIC, [partition])]
    )
    if context.version >= _KNOWS_DIRECTORIES:
        response.nodes = _nodes(
            [voter.replica_id for voter in partition.current_voters], metadata=metadata
        )
    return response


def _described(
    context: RequestContext, *, controller: ControllerClient
) -> DescribeQuorumResponsePartitionData:
    quorum = controller.quorum()
    knows_times = context.version >= _KNOWS_TIMES
    knows_directories = context.version >= _KNOWS_DIRECTORIES

    def state(replica: ReplicaDescription, *, has_directory: bool) -> ReplicaState:
        return ReplicaState(
            replica_id=replica.key.id,
            replica_directory_id=replica.key.directory_id if has_directory else ZERO_UUID,
            log_end_offset=replica.log_end_offset,
            last_fetch_timestamp=replica.last_fetch_ms if knows_times else -1,
            last_caught_up_timestamp=replica.last_caught_up_ms if knows_times else -1,
        )

    in_log = knows_directories and not quorum.is_static  # a configuration names no directories
    return DescribeQuorumResponsePartitionData(
        leader_id=quorum.leader_id,
        leader_epoch=quorum.leader_epoch,
        high_watermark=quorum.high_watermark,
        current_voters=[state(each, has_directory=in_log) for each in quorum.replicas.voters],
        observers=[
            state(each, has_directory=knows_directories) for each in quorum.replicas.observers
        ],
    )


def _nodes(ids: list[int], *, metadata: Metadata) -> list[Node]:
    controllers = metadata.image.controllers
    return [
        Node(
            node_id=controller.controller_id,
            listeners=[Listener(e.listener, e.host, e.port) for e in controller.endpoints],
        )
        for controller in controllers.values()
        if controller.controller_id in ids
    ]


def _unknown(topic: DescribeQuorumRequestTopicData) -> DescribeQuorumResponseTopicData:
    error = UnknownTopicOrPartition()
    return DescribeQuorumResponseTopicData(
        topic.topic_name,
        [
            DescribeQuorumResponsePartitionData(
                partition_index=partition.partition_index,
                error_code=error.code,
                error_message=str(error),
            )
            for partition in topic.partitions
        ],
    )
