"""The group coordinator of one `__consumer_offsets` partition: the front of everything in this package.

Handlers plan: they may move soft state (who waits, who is expected, which session runs), which a new coordinator rebuilds by
asking the members. Hard state (committed offsets, the stored assignment of a generation, which groups exist in the log)
changes in `replay` alone, live and at load.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from millstream.coordinator.group.classic import describe, join, leave, rebalance, sync
from millstream.coordinator.group.classic import heartbeat as session
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.records import assignments_of, group_from_value
from millstream.coordinator.group.classic.state import GroupState
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.consumer import describe as consumer_describe
from millstream.coordinator.group.consumer import heartbeat, removal
from millstream.coordinator.group.consumer import replay as consumer_replay
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.consumer.regex import TopicsToMatch, take_matches
from millstream.coordinator.group.context import GroupTimer, OperationContext, TimerKind
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets import commit as offset_commit
from millstream.coordinator.group.offsets import delete
from millstream.coordinator.group.offsets import expiry as offset_expiry
from millstream.coordinator.group.offsets import fetch as offset_fetch
from millstream.coordinator.group.offsets import transactional_commit as transactional_offsets
from millstream.coordinator.group.offsets.store import OffsetStore, StoredOffset
from millstream.coordinator.group.share import operations as share_requests
from millstream.coordinator.group.share import removal as share_removal
from millstream.coordinator.group.share import replay as share_replay
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.streams import replay as streams_replay
from millstream.coordinator.group.streams.describe import describe_group as describe_streams_group
from millstream.coordinator.group.streams.operations import StreamsGroupCoordinator
from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Caller, CoordinatorResult, TimerKey
from millstream.metadata.image import MetadataImage
from millstream.model import Offset, ProducerId
from millstream.protocol.generated.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from millstream.protocol.generated.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from millstream.protocol.generated.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
)
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.join_group import JoinGroupRequest
from millstream.protocol.generated.leave_group import LeaveGroupRequest
from millstream.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from millstream.protocol.generated.offset_commit import OffsetCommitRequest
from millstream.protocol.generated.offset_delete import OffsetDeleteRequest
from millstream.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from millstream.protocol.generated.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from millstream.protocol.generated.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from millstream.protocol.generated.sync_group import SyncGroupRequest
from millstream.protocol.generated.txn_offset_commit import TxnOffsetCommitRequest
from millstream.runtime import Instant, Random

_EXPIRY_PAUSE_MS: Final = 100
"""Between two batches of tombstones."""


class GroupShard:
    """Satisfies `coordinator.runtime.Shard`. A KafkaError raised by a handler is the answer; nothing has changed then."""

    def __init__(self, config: GroupCoordinatorConfig, random: Random) -> None:
        self._config = config
        self._random = random
        self._groups = Groups()
        self._offsets = OffsetStore()
        self._streams = StreamsGroupCoordinator(self._groups, config.streams)
        self._is_loaded = False
        self._image = MetadataImage()
        self._topics_version = 0

    def change_config(self, config: GroupCoordinatorConfig) -> None:
        """The broker's settings were changed while it runs: they count from the next operation on."""
        self._config = config
        self._streams.change_config(config.streams)

    @property
    def image(self) -> MetadataImage:
        """The newest metadata this node has applied: topics, brokers, the dynamic configs of groups."""
        return self._image

    def apply_image(self, image: MetadataImage) -> None:
        """Comes with every new image, before anything that happens after it. What it changes for groups is `handle_new_image`."""
        if image.topics is not self._image.topics:
            self._topics_version = image.offset
        self._image = image

    @property
    def groups(self) -> Groups:
        """To look at, not to change."""
        return self._groups

    @property
    def offsets(self) -> OffsetStore:
        """To look at, not to change."""
        return self._offsets

    # Membership

    def handle_join_group(
        self, request: JoinGroupRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        join.join_group(self._groups, request, caller, context)
        return context.result

    def handle_sync_group(
        self, request: SyncGroupRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        sync.sync_group(self._groups, request, caller, context)
        return context.result

    def handle_heartbeat(
        self, request: HeartbeatRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        session.heartbeat(self._groups, request, caller, context)
        return context.result

    def handle_leave_group(
        self, request: LeaveGroupRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        leave.leave_group(self._groups, request, caller, context)
        return context.result

    def handle_consumer_group_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        heartbeat.heartbeat(self._groups, request, caller, context)
        return context.result

    def handle_matches(
        self,
        asked: TopicsToMatch,
        matches: Mapping[str, frozenset[str]],
        caller: Caller,
        now: Instant,
    ) -> CoordinatorResult:
        """What the edge has found; nobody but the edge waits for the answer."""
        context = self._context(now)
        group = self._groups.find(asked.group_id)
        if isinstance(group, ConsumerGroup):
            take_matches(group, asked, matches, context)
        context.result.reply(caller.token, None)
        return context.result

    def handle_share_group_request(
        self,
        request: share_requests.ShareGroupRequest,
        caller: Caller,
        now: Instant,
    ) -> CoordinatorResult:
        """Whatever concerns share groups alone; what the answer is, the request says."""
        context = self._context(now)
        share_requests.handle(self._groups, request, caller, context)
        return context.result

    # Offsets

    def handle_offset_commit(
        self, request: OffsetCommitRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        offset_commit.commit_offsets(self._groups, request, caller, context)
        return context.result

    def handle_txn_offset_commit(
        self, request: TxnOffsetCommitRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        """The caller has made sure that the transaction is open and knows of this partition."""
        context = self._context(now)
        transactional_offsets.commit_transactional_offsets(self._groups, request, caller, context)
        return context.result

    def handle_offset_fetch(
        self, request: OffsetFetchRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        """Every group of the request that belongs to this shard, in the shape of versions 8 on."""
        context = self._context(now)
        answers = [
            offset_fetch.fetch_offsets(
                self._groups, self._offsets, group, require_stable=request.require_stable
            )
            for group in request.groups
        ]
        context.result.reply(caller.token, OffsetFetchResponse(groups=answers))
        return context.result

    def handle_offset_delete(
        self, request: OffsetDeleteRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        response = delete.delete_offsets(self._groups, self._offsets, request, context)
        context.result.reply(caller.token, response)
        return context.result

    def handle_new_image(self, caller: Caller, now: Instant) -> CoordinatorResult:
        """Topics have come, gone or grown since the last call; nobody but the edge waits for the answer."""
        context = self._context(now)
        share_requests.forget_deleted_topics(self._groups, context)
        context.result.reply(caller.token, None)
        return context.result

    def handle_topics_deleted(
        self, topics: Collection[str], caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        delete.forget_topics(self._offsets, topics, context)
        context.result.reply(caller.token, None)
        return context.result

    # Administration

    def handle_describe_groups(
        self, request: DescribeGroupsRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        described = [
            describe.describe_group(self._groups, group_id, caller.api_version)
            for group_id in request.groups
        ]
        context.result.reply(caller.token, DescribeGroupsResponse(groups=described))
        return context.result

    def handle_consumer_group_describe(
        self, request: ConsumerGroupDescribeRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        described = [
            consumer_describe.describe_group(self._groups, group_id, caller.api_version, context)
            for group_id in request.group_ids
        ]
        context.result.reply(caller.token, ConsumerGroupDescribeResponse(groups=described))
        return context.result

    def handle_list_groups(
        self, request: ListGroupsRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        listed = describe.list_groups(self._groups, request.states_filter, request.types_filter)
        context.result.reply(caller.token, ListGroupsResponse(groups=listed))
        return context.result

    def handle_delete_groups(
        self, request: DeleteGroupsRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        results = delete.delete_groups(self._groups, self._offsets, request.groups_names, context)
        context.result.reply(caller.token, DeleteGroupsResponse(results=results))
        return context.result

    # Streams groups

    def handle_streams_group_heartbeat(
        self, request: StreamsGroupHeartbeatRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        """Replies with a StreamsHeartbeat. `streams.request_check` has seen the request before."""
        context = self._context(now)
        self._streams.handle_heartbeat(request, caller, context)
        return context.result

    def handle_streams_group_describe(
        self, request: StreamsGroupDescribeRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        described = [
            describe_streams_group(self._groups, group_id) for group_id in request.group_ids
        ]
        context.result.reply(caller.token, StreamsGroupDescribeResponse(groups=described))
        return context.result

    # What the runtime asks for

    def handle_loaded(self, now: Instant) -> CoordinatorResult:
        """A stored group is taken as alive: each member has a whole session to show itself."""
        self._is_loaded = True
        context = self._context(now)
        for group in self._groups.of_kind(ClassicGroup):
            for member in group.members.values():
                context.restart_session(group, member)
            if len(group.members) > self._config.group_max_size:
                rebalance.prepare_rebalance(group, context, "it has more members than are allowed")
        for consumers in self._groups.of_kind(ConsumerGroup):
            removal.resume(consumers, context)
        share_requests.begin_sessions(self._groups, context)
        self._streams.resume(context)
        self._start_expiry_timer(context, self._config.offsets_retention_check_interval_ms)
        return context.result

    def handle_timer(self, key: TimerKey, now: Instant) -> CoordinatorResult:
        assert isinstance(key, GroupTimer), "a timer of another shard"
        context = self._context(now)
        if key.kind is TimerKind.OFFSET_EXPIRY:
            is_done = offset_expiry.expire_offsets(self._groups, self._offsets, context)
            interval_ms = self._config.offsets_retention_check_interval_ms
            self._start_expiry_timer(context, interval_ms if is_done else _EXPIRY_PAUSE_MS)
            return context.result
        match self._groups.find(key.group_id):
            case ClassicGroup() as group:
                session.expire(group, key, context)
            case ConsumerGroup() as group:
                removal.expire(group, key, context)
            case ShareGroup() as group:
                share_removal.expire(group, key, context)
            case _:
                self._streams.expire(key, context)
        return context.result

    def handle_append_failed(
        self, records: Sequence[CoordinatorRecord], now: Instant
    ) -> CoordinatorResult:
        """A generation whose assignment or membership could not be stored is tried again with the next one."""
        context = self._context(now)
        for record in records:
            if isinstance(record.key, GroupMetadataKey):
                self._rebalance_unstored(record.key.group, context)
            elif isinstance(
                record.key, ConsumerGroupMetadataKey | ConsumerGroupCurrentMemberAssignmentKey
            ):
                removal.resume_unstored(self._groups, record, context)
        return context.result

    def _rebalance_unstored(self, group_id: str, context: OperationContext) -> None:
        group = self._groups.find(group_id)
        if isinstance(group, ClassicGroup) and group.state in (
            GroupState.COMPLETING_REBALANCE,
            GroupState.STABLE,
        ):
            rebalance.prepare_rebalance(group, context, "its metadata could not be stored")

    # Hard state

    def replay(self, offset: Offset, record: CoordinatorRecord) -> None:
        """Records of group types that are not served are passed over, as Kafka does with types it does not know."""
        match record.key, record.value:
            case OffsetCommitKey() as key, None:
                self._offsets.remove(key)
            case OffsetCommitKey() as key, OffsetCommitValue() as value:
                self._groups.get_or_create_classic(key.group, timestamp_ms=-1)
                self._offsets.put(key, StoredOffset(value, offset), record.producer_id)
            case GroupMetadataKey() as key, None:
                self._groups.remove_as(ClassicGroup, key.group)
            case GroupMetadataKey() as key, GroupMetadataValue() as value:
                self._replay_group(key.group, value)
            case (
                ConsumerGroupMetadataKey()
                | ConsumerGroupPartitionMetadataKey()
                | ConsumerGroupMemberMetadataKey()
                | ConsumerGroupTargetAssignmentMetadataKey()
                | ConsumerGroupTargetAssignmentMemberKey()
                | ConsumerGroupCurrentMemberAssignmentKey()
                | ConsumerGroupRegularExpressionKey()
            ) as key, _:
                consumer_replay.replay(self._groups, key, record)
            case (
                ShareGroupMetadataKey()
                | ShareGroupMemberMetadataKey()
                | ShareGroupTargetAssignmentMetadataKey()
                | ShareGroupTargetAssignmentMemberKey()
                | ShareGroupCurrentMemberAssignmentKey()
                | ShareGroupStatePartitionMetadataKey()
            ) as key, _:
                share_replay.replay(self._groups, key, record)
            case _:
                streams_replay.replay(self._groups, record)

    def replay_end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        self._offsets.end_transaction(producer_id, committed=committed)

    def _replay_group(self, group_id: str, value: GroupMetadataValue) -> None:
        """At load the record is the group. Live, the group is ahead of it in everything but the assignment."""
        group = self._groups.find(group_id)
        if not isinstance(group, ClassicGroup) or not self._is_loaded:
            self._groups.put(group_from_value(group_id, value))
            return
        group.assignments = assignments_of(value)
        if value.members and group.state is GroupState.COMPLETING_REBALANCE:
            assert value.generation == group.generation, "an assignment of another generation"
            group.transition_to(GroupState.STABLE, group.state_timestamp_ms)

    def _start_expiry_timer(self, context: OperationContext, delay_ms: int) -> None:
        timer = GroupTimer(TimerKind.OFFSET_EXPIRY)
        context.result.start_timer(timer, context.now.monotonic_ms + delay_ms)

    def _context(self, now: Instant) -> OperationContext:
        return OperationContext(now, self._config, self._image, self._random, self._topics_version)
