"""AlterPartition: the leader of a partition says who is in sync with it, and that it has recovered (KIP-497,
KIP-704, KIP-841, KIP-903).

Owns what is refused and in which order. Versions 2 and 3: the first tells no broker epochs of the replicas. Each
partition is altered or refused by itself; what it becomes is decided in `partition_change`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.controller.partitions.partition_change import Election, PartitionTarget
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.errors import (
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    KafkaError,
    NewLeaderElected,
    NotController,
    StaleBrokerEpoch,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import (
    RECOVERED,
    RECOVERING,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from millstream.metadata.topics_delta import NO_LEADER_CHANGE, merged
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
    BrokerState,
)

_ANY_EPOCH = -1


def plan_alter_partition(
    context: ControllerContext, request: AlterPartitionRequest
) -> ControllerResult[AlterPartitionResponse]:
    """Alters the partitions that the broker leads.

    Raises StaleBrokerEpoch; a partition's own error is in the response.
    """
    changes, broker_id = context.partition_changes(), BrokerId(request.broker_id)
    _check_sender(broker_id, request.broker_epoch, changes.image)
    records: list[MetadataRecord] = []
    topics = []
    for asked in request.topics:
        answers = []
        for partition in asked.partitions:
            try:
                answers.append(_altered(asked, partition, broker_id, changes, records))
            except KafkaError as error:
                answers.append(
                    AlterPartitionResponsePartitionData(
                        partition_index=partition.partition_index, error_code=error.code
                    )
                )
        topics.append(AlterPartitionResponseTopicData(topic_id=asked.topic_id, partitions=answers))
    return ControllerResult(tuple(records), AlterPartitionResponse(topics=topics))


ALTER_PARTITION: Final = ControllerApi(
    ApiKey.ALTER_PARTITION,
    plan_alter_partition,
    lambda request, _image: sum(len(each.partitions) for each in request.topics),
)


def _check_sender(broker_id: BrokerId, broker_epoch: int, image: MetadataImage) -> None:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise StaleBrokerEpoch(f"No broker registration found for broker id {broker_id}")
    if broker.broker_epoch != broker_epoch:
        raise StaleBrokerEpoch(
            f"Broker {broker_id} registered anew with epoch {broker.broker_epoch}, not {broker_epoch}"
        )


def _altered(
    asked: AlterPartitionRequestTopicData,
    wanted: AlterPartitionRequestPartitionData,
    broker_id: BrokerId,
    changes: PartitionChanges,
    records: list[MetadataRecord],
) -> AlterPartitionResponsePartitionData:
    """Adds the partition's record. Raises the error that its sender gets for it, NewLeaderElected beside a record."""
    topic = changes.image.topic_by_id(asked.topic_id)
    if topic is None:
        raise UnknownTopicId
    if not 0 <= wanted.partition_index < len(topic.partitions):
        raise UnknownTopicOrPartition
    partition = topic.partitions[wanted.partition_index]
    isr = wanted.new_isr_with_epochs or [
        BrokerState(broker_id=each, broker_epoch=_ANY_EPOCH) for each in wanted.new_isr
    ]
    _check_epochs(wanted, partition, broker_id)
    _check_isr([each.broker_id for each in isr], wanted.leader_recovery_state, partition)
    if any(not _may_be_in_sync(each, changes.image) for each in isr):
        raise IneligibleReplica
    record = changes.change(topic, partition, _target(topic, isr, wanted, changes))
    if record is not None:
        records.append(record)
        partition = merged(partition, record)
        if record.leader not in (NO_LEADER_CHANGE, broker_id):
            # It completed a reassignment that removes the leader: who asked has to read of it in the metadata.
            raise NewLeaderElected
    return AlterPartitionResponsePartitionData(
        partition_index=partition.partition,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )


def _target(
    topic: TopicImage,
    isr: Sequence[BrokerState],
    wanted: AlterPartitionRequestPartitionData,
    changes: PartitionChanges,
) -> PartitionTarget:
    uncleanly = changes.elects_uncleanly(topic.name)
    return PartitionTarget(
        isr=tuple(BrokerId(each.broker_id) for each in isr),
        leader_recovery_state=wanted.leader_recovery_state,
        election=Election.UNCLEAN if uncleanly else Election.ONLINE,
    )


def _check_epochs(
    wanted: AlterPartitionRequestPartitionData, partition: PartitionImage, broker_id: BrokerId
) -> None:
    if (
        wanted.leader_epoch > partition.leader_epoch
        or wanted.partition_epoch > partition.partition_epoch
    ):
        # The leader knows more than this controller: another one has been active since.
        raise NotController
    if wanted.leader_epoch < partition.leader_epoch:
        raise FencedLeaderEpoch
    if broker_id != partition.leader:
        raise InvalidRequest(f"broker {partition.leader} leads")
    if wanted.partition_epoch < partition.partition_epoch:
        raise InvalidUpdateVersion


def _check_isr(isr: Sequence[int], recovery: int, partition: PartitionImage) -> None:
    if not isr or len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas):
        raise InvalidRequest(f"the ISR {list(isr)} is not some of the replicas")
    if partition.leader not in isr:
        raise InvalidRequest(f"the ISR {list(isr)} lacks the leader")
    if recovery not in (RECOVERED, RECOVERING):
        raise InvalidRequest(f"{recovery} is no state of recovery")
    if recovery == RECOVERING and len(isr) > 1:
        raise InvalidRequest("nobody is in sync with a leader that recovers")
    if recovery == RECOVERING and partition.leader_recovery_state == RECOVERED:
        raise InvalidRequest("a leader that has recovered does not recover again")


def _may_be_in_sync(replica: BrokerState, image: MetadataImage) -> bool:
    """Whether the replica runs, and as the incarnation that the leader saw fetch."""
    broker = image.brokers.get(BrokerId(replica.broker_id))
    if broker is None or not broker.is_active:
        return False
    return replica.broker_epoch in (_ANY_EPOCH, broker.broker_epoch)
