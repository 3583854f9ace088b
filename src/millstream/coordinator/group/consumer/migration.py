"""A group goes from the classic to the consumer protocol, and back, while its members stay
(KIP-848, "online migration").

The records of one kind are replaced by those of the other, in one batch. What waits and what runs is put right around
it: requests that wait in a classic group are told to join again, and a group that has become classic begins a rebalance
once its records are written.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.member import (
    CONSUMER_PROTOCOL_TYPE,
    ClassicGroupMember,
    JoinSettings,
)
from millstream.coordinator.group.classic.rebalance import begin_again, fail_waiting_syncs
from millstream.coordinator.group.classic.records import group_metadata_record
from millstream.coordinator.group.classic.responses import join_error
from millstream.coordinator.group.classic.sessions import cancel_join_timer, cancel_sync_timer
from millstream.coordinator.group.consumer import records
from millstream.coordinator.group.consumer.embedded_protocol import (
    read_assignment,
    read_subscription,
    write_assignment,
)
from millstream.coordinator.group.consumer.group import ConsumerGroup, topics_read_by
from millstream.coordinator.group.consumer.member import (
    ClassicMemberMetadata,
    ConsumerGroupMember,
    partitions_of,
    with_epoch,
)
from millstream.coordinator.group.consumer.replay import apply
from millstream.coordinator.group.consumer.sessions import restart_session
from millstream.coordinator.group.context import GroupContext, GroupTimer, GroupTimerKind
from millstream.coordinator.group.topic_hash import topics_hash
from millstream.coordinator.record import CoordinatorRecord
from millstream.errors import GroupIdNotFound, ProtocolError, RebalanceInProgress
from millstream.protocol.enums import GroupState

_LOGGER = logging.getLogger(__name__)


def group_to_join(context: GroupContext, group_id: str) -> ConsumerGroup:
    """Returns the group that a member of the consumer protocol joins, as it will be. Raises GroupIdNotFound."""
    match context.groups.find(group_id):
        case None:
            return ConsumerGroup(group_id)
        case ConsumerGroup() as group:
            return group
        case ClassicGroup(state=GroupState.EMPTY) as group:
            context.result.records += group.tombstones()
            return ConsumerGroup(group_id)
        case ClassicGroup() as group:
            return _upgraded(context, group)
        case _:
            raise GroupIdNotFound(f"Group {group_id} is not a consumer group.")


# From classic to consumer


def _upgraded(context: GroupContext, classic: ClassicGroup) -> ConsumerGroup:
    """Raises GroupIdNotFound when the group has to stay as it is."""
    _check_may_upgrade(context, classic)
    try:
        members = [
            _consumer_member(context, classic, member) for member in classic.members.values()
        ]
    except ProtocolError:
        raise _refusal(classic, "the embedded consumer protocol is malformed") from None
    written = classic.tombstones()
    created = _creation_records(context, classic, members)
    group = ConsumerGroup(classic.group_id)
    for record in created:
        apply(group, record)
    context.result.records += [*written, *created]
    for member in members:
        restart_session(context, group, member)
    _LOGGER.info("group %s speaks the consumer protocol from now on", group.group_id)
    return group


def _check_may_upgrade(context: GroupContext, classic: ClassicGroup) -> None:
    config = context.config.consumer
    if not config.migration_policy.allows_upgrade:
        raise _refusal(classic, "online upgrade is disabled")
    if classic.protocol_type != CONSUMER_PROTOCOL_TYPE:
        raise _refusal(classic, "the group does not use the consumer embedded protocol")
    if len(classic.members) > config.max_size:
        raise _refusal(classic, "the group size exceeds the consumer group maximum size")


def _refusal(classic: ClassicGroup, why: str) -> GroupIdNotFound:
    return GroupIdNotFound(
        f"Cannot upgrade classic group {classic.group_id} to consumer group because {why}."
    )


def _consumer_member(
    context: GroupContext, classic: ClassicGroup, member: ClassicGroupMember
) -> ConsumerGroupMember:
    """In the state Stable, with what it was assigned last."""
    assignment = classic.assignments.get(member.member_id, b"")
    partitions, has_user_data = read_assignment(assignment, context.image.topics)
    if has_user_data:
        raise _refusal(
            classic,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
            "assignor before re-attempting the upgrade",
        )
    protocol = classic.protocol or member.settings.protocols[0][0]
    subscription = read_subscription(member.settings.metadata(protocol))
    return ConsumerGroupMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.settings.rebalance_timeout_ms,
        topic_names=frozenset(subscription.topics),
        classic=ClassicMemberMetadata(
            member.settings.session_timeout_ms, member.settings.protocols
        ),
        member_epoch=classic.generation,
        previous_member_epoch=classic.generation,
        assigned=with_epoch(partitions, classic.generation),
    )


def _creation_records(
    context: GroupContext, classic: ClassicGroup, members: list[ConsumerGroupMember]
) -> list[CoordinatorRecord]:
    group_id, epoch = classic.group_id, classic.generation
    new_hash = topics_hash(topics_read_by(members, {}), context.image)
    return [
        *(records.member_record(group_id, member) for member in members),
        records.epoch_record(group_id, epoch, new_hash),
        *(
            records.target_record(group_id, member.member_id, partitions_of(member.assigned))
            for member in members
        ),
        records.target_epoch_record(group_id, epoch, 0),
        *(records.current_assignment_record(group_id, member) for member in members),
    ]


def release_waiting(context: GroupContext, classic: ClassicGroup) -> None:
    """The group is no longer what its members wait for: they join again and find what it has become."""
    for member in classic.members.values():
        joining = classic.take_joining(member)
        if joining is not None:
            context.result.reply(joining, join_error(member.member_id, RebalanceInProgress()))
    fail_waiting_syncs(context, classic, RebalanceInProgress())
    cancel_join_timer(context, classic)
    cancel_sync_timer(context, classic)
    context.on_append_failure(lambda later: begin_again(later, classic))


# From consumer to classic


def may_downgrade(context: GroupContext, staying: Mapping[str, ConsumerGroupMember]) -> bool:
    """Tells whether all members that are left speak the classic protocol, and there is one at least."""
    return (
        bool(staying)
        and all(member.is_classic for member in staying.values())
        and context.config.consumer.migration_policy.allows_downgrade
        and len(staying) <= context.config.classic.max_size
    )


def downgrade(
    context: GroupContext,
    group: ConsumerGroup,
    staying: Mapping[str, ConsumerGroupMember],
    *,
    leaving: Collection[ConsumerGroupMember] = (),
    must_rebalance: bool = True,
) -> None:
    """Members keep what they are to own until they have joined again. `leaving` are still in the log."""
    classic = ClassicGroup(group.group_id, context.now.wall_ms)
    for member in staying.values():
        classic.add(_classic_member(member), CONSUMER_PROTOCOL_TYPE)
    classic.generation = group.epoch
    classic.protocol = classic.select_protocol()
    assignments = {
        member.member_id: write_assignment(
            group.target_of(member), context.image.topics, _metadata(member, classic.protocol)
        )
        for member in staying.values()
    }
    members = [*staying, *(member.member_id for member in leaving)]
    context.result.records += [
        *records.group_tombstones(group.group_id, members, group.regexes),
        group_metadata_record(classic, assignments),
    ]
    for member in staying.values():
        restart_session(context, group, member)
    if must_rebalance:
        timer = GroupTimer(GroupTimerKind.DOWNGRADE, group.group_id)
        context.start_timer(timer, 0)
    _LOGGER.info("group %s speaks the classic protocol from now on", group.group_id)


def _classic_member(member: ConsumerGroupMember) -> ClassicGroupMember:
    assert member.classic is not None, (
        "only classic members are left in a group that becomes classic"
    )
    return ClassicGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        settings=JoinSettings(
            member.classic.session_timeout_ms,
            member.rebalance_timeout_ms,
            member.classic.protocols,
        ),
    )


def _metadata(member: ConsumerGroupMember, protocol: str) -> bytes:
    assert member.classic is not None, (
        "only classic members are left in a group that becomes classic"
    )
    return dict(member.classic.protocols)[protocol]
