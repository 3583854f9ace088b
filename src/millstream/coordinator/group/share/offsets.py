"""The offsets at which a share group begins, set or forgotten by an administrator: in groups without members only.

The offsets themselves are the share coordinator's. Each operation has two halves, and the edge asks the share
coordinator between them.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.share.heartbeat import existing_group, group_to_change
from millstream.coordinator.group.share.initialization import (
    Initialization,
    all_with_state,
    write_state_partitions,
)
from millstream.coordinator.group.share.requests import DeleteGroupState, OffsetsDeleted
from millstream.coordinator.group.share.state_partitions import of_topics
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import NonEmptyGroup, UnknownTopicOrPartition
from millstream.metadata.image import TopicImage
from millstream.model import Uuid
from millstream.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from millstream.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponseTopic,
)


@dataclass(frozen=True, slots=True)
class AlterOutcome:
    response: AlterShareGroupOffsetsResponse
    to_initialize: Initialization | None


@dataclass(frozen=True, slots=True)
class Deletion:
    """To be asked of the share coordinator."""

    group_id: str
    partitions: Partitions


@dataclass(frozen=True, slots=True)
class DeleteOutcome:
    refused: list[DeleteShareGroupOffsetsResponseTopic]
    to_delete: Deletion


def alter_offsets(
    context: GroupContext, request: AlterShareGroupOffsetsRequest
) -> CoordinatorResult:
    """Replies with an AlterOutcome. Raises GroupIdNotFound for a group of another kind, NonEmptyGroup.

    As in Kafka, a group that does not exist is made as soon as one of the topics exists, whichever of its partitions
    are named; what is written then names the topic with no partitions.
    """
    group = group_to_change(context.groups, request.group_id)
    _check_is_empty(group)
    response = AlterShareGroupOffsetsResponse()
    start_offsets: dict[tuple[Uuid, int], int] = {}
    named: dict[Uuid, set[int]] = {}
    for asked in request.topics:
        topic = context.image.topic(asked.topic_name)
        response.responses.append(_altered(asked, topic))
        if topic is not None:
            known = {
                (topic.topic_id, partition.partition_index): partition.start_offset
                for partition in asked.partitions
                if 0 <= partition.partition_index < len(topic.partitions)
            }
            start_offsets |= known
            named.setdefault(topic.topic_id, set()).update(number for _, number in known)
    partitions = {topic_id: frozenset(numbers) for topic_id, numbers in named.items()}
    if partitions:
        state = group.state_partitions.with_initializing(partitions)
        write_state_partitions(context, group, state)
    if not start_offsets:
        return context.reply(AlterOutcome(response, None))
    to_initialize = Initialization(group.group_id, group.epoch, partitions, start_offsets)
    return context.reply(AlterOutcome(response, to_initialize))


def _altered(
    asked: AlterShareGroupOffsetsRequestTopic, topic: TopicImage | None
) -> AlterShareGroupOffsetsResponseTopic:
    answer = AlterShareGroupOffsetsResponseTopic(topic_name=asked.topic_name)
    if topic is not None:
        answer.topic_id = topic.topic_id
    for partition in asked.partitions:
        result = AlterShareGroupOffsetsResponsePartition(partition.partition_index)
        if topic is None or not 0 <= partition.partition_index < len(topic.partitions):
            result.error_code = UnknownTopicOrPartition.code
            result.error_message = UnknownTopicOrPartition.sentence
        answer.partitions.append(result)
    return answer


def begin_deletion_of_offsets(
    context: GroupContext, request: DeleteShareGroupOffsetsRequest
) -> CoordinatorResult:
    """Replies with a DeleteOutcome. Raises GroupIdNotFound, NonEmptyGroup.

    Partitions whose state is being deleted are not assigned any more.
    """
    group = existing_group(context.groups, request.group_id)
    _check_is_empty(group)
    state = group.state_partitions
    refused: list[DeleteShareGroupOffsetsResponseTopic] = []
    chosen: set[Uuid] = set()
    for asked in request.topics:
        topic = context.image.topic(asked.topic_name)
        if topic is not None and (
            topic.topic_id in state.initialized or topic.topic_id in state.deleting
        ):
            chosen.add(topic.topic_id)
            continue
        sentence = (
            UnknownTopicOrPartition.sentence
            if topic is None
            else "There is no offset information to delete."
        )
        refused.append(
            DeleteShareGroupOffsetsResponseTopic(
                topic_name=asked.topic_name,
                error_code=UnknownTopicOrPartition.code,
                error_message=sentence,
            )
        )
    partitions = of_topics(all_with_state(context, group), chosen)
    write_state_partitions(context, group, state.with_deleting(chosen))
    return context.reply(DeleteOutcome(refused, Deletion(group.group_id, partitions)))


def finish_deletion_of_offsets(context: GroupContext, request: OffsetsDeleted) -> CoordinatorResult:
    """The share coordinator has deleted them. Raises GroupIdNotFound."""
    group = existing_group(context.groups, request.group_id)
    state = group.state_partitions.without_topics(request.topic_ids)
    write_state_partitions(context, group, state)
    return context.reply(None)


def begin_deletion_of_group(context: GroupContext, request: DeleteGroupState) -> CoordinatorResult:
    """Replies with a Deletion: all state of a share group goes before the group does. Raises NonEmptyGroup."""
    group = context.groups.find(request.group_id)
    if not isinstance(group, ShareGroup):
        return context.reply(Deletion(request.group_id, {}))
    group.check_may_delete()
    partitions = all_with_state(context, group)
    if not group.state_partitions.is_empty():
        write_state_partitions(context, group, group.state_partitions.with_deleting(partitions))
    return context.reply(Deletion(request.group_id, partitions))


def _check_is_empty(group: ShareGroup) -> None:
    if group.members:
        raise NonEmptyGroup(f"group {group.group_id} has members; stop them first")
