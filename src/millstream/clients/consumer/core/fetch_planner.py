"""Decides which partitions are fetched from which broker, and takes in the answers.

One fetch per broker is in flight. A partition is asked for while less than a fetch's worth of it lies unread, so the
next chunk travels while the last one is being read, and a slow reader of one partition does not hold up the others.
Brokers that are not, or no longer, the right ones are asked again when newer metadata came in; until then the other
partitions go on. Reading what was fetched is `fetched_records`'.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.cluster.core.leader_changes import LeaderChanges
from millstream.clients.consumer.core.errors import CorruptBatch
from millstream.clients.consumer.core.fetch_session import (
    FetchRequestPartition,
    FetchSessionHandler,
    SessionPlan,
)
from millstream.clients.consumer.core.fetched import FetchedChunk, partition_error
from millstream.clients.consumer.core.offset_reset import AutoOffsetResetStrategy
from millstream.clients.consumer.core.partition_state import PartitionState, ReadReplica
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.errors import (
    CorruptMessage,
    FencedLeaderEpoch,
    InconsistentTopicId,
    KafkaError,
    KafkaStorageError,
    LeaderNotAvailable,
    NotLeaderOrFollower,
    OffsetNotAvailable,
    OffsetOutOfRange,
    ReplicaNotAvailable,
    UnknownLeaderEpoch,
    UnknownServerError,
    UnknownTopicId,
    UnknownTopicOrPartition,
    error_for,
)
from millstream.model import ZERO_UUID, TopicPartition, Uuid
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)

_LOGGER = logging.getLogger(__name__)

_SHORT_WAIT_MS = 10
_DOUBLINGS_MAX = 16

_NOT_THE_REPLICA = frozenset(
    error.code
    for error in (
        NotLeaderOrFollower,
        ReplicaNotAvailable,
        FencedLeaderEpoch,
        KafkaStorageError,
        OffsetNotAvailable,
    )
)
"""Another broker, or this one later, will answer; a follower is not asked again."""
_CURED_BY_METADATA = _NOT_THE_REPLICA | {
    error.code
    for error in (
        UnknownTopicOrPartition,
        UnknownTopicId,
        InconsistentTopicId,
        LeaderNotAvailable,
        UnknownLeaderEpoch,
        UnknownServerError,
    )
}
_FIRST_VERSION_WITH_TOPIC_IDS = 13


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    min_bytes: int
    max_wait_ms: int
    max_bytes: int
    partition_max_bytes: int
    read_committed: bool
    reset: AutoOffsetResetStrategy | None
    rack: str = ""
    read_replica_ms: int = 300_000
    """How long a follower is preferred before the leader is asked again: metadata_max_age_ms."""


@dataclass(frozen=True, slots=True)
class PlannedFetch:
    node_id: int
    plan: SessionPlan
    generations: dict[TopicPartition, int]
    topic_names: dict[Uuid, str]
    max_wait_ms: int

    @property
    def version_max(self) -> int:
        """Version 13 names topics by id only."""
        return _FIRST_VERSION_WITH_TOPIC_IDS - 1 if ZERO_UUID in self.topic_names else 2**15

    def answers(self, response: FetchResponse) -> list[tuple[TopicPartition, PartitionData]]:
        """Returns the answers by partition. Topics that we did not ask for by id have the name ""."""
        return [
            (
                TopicPartition(
                    topic.topic or self.topic_names.get(topic.topic_id, ""),
                    partition.partition_index,
                ),
                partition,
            )
            for topic in response.responses
            for partition in topic.partitions
        ]

    def record_bytes(self, response: FetchResponse) -> int:
        return sum(len(answer.records or b"") for _, answer in self.answers(response))

    def news(self, response: FetchResponse) -> LeaderChanges:
        leaders = [(tp, answer.current_leader) for tp, answer in self.answers(response)]
        return LeaderChanges.collect(leaders, response.node_endpoints)


class FetchPlanner:
    def __init__(self, policy: FetchPolicy, subscription: SubscriptionState) -> None:
        self._policy = policy
        self._subscription = subscription
        self._sessions: dict[int, FetchSessionHandler] = {}
        self._busy: set[int] = set()
        self._short_waits: dict[int, int] = {}
        """By broker, how many fetches in a row have left out partitions that may be wanted soon."""
        self.metadata_wanted = False

    def plan(self, cluster: ClusterMetadata, now_ms: int) -> list[PlannedFetch]:
        """Returns a request for each broker that has something for us and no fetch of ours in flight.

        `finish` each, after `handle_response` or `handle_failure`, as soon as its broker may be asked again.
        """
        wanted: dict[int, dict[TopicPartition, FetchRequestPartition]] = {}
        left_out: set[int] = set()
        states = self._subscription.partitions.values()
        total_bytes = sum(state.buffered_bytes for state in states)
        for state in sorted(states, key=lambda state: state.last_turn):
            if not self._is_of_another_topic(state, cluster) and self._is_fetchable(
                state, cluster, total_bytes
            ):
                node_id = self._source(state, cluster, now_ms)
                if node_id not in self._busy:
                    position = self._fetch_position(state, cluster)
                    wanted.setdefault(node_id, {})[state.topic_partition] = position
            elif self._is_left_out(state) and cluster.partition(state.topic_partition) is not None:
                left_out.add(self._source(state, cluster, now_ms))
        return [
            self._planned(node_id, positions, self._wait_ms(node_id, left_out))
            for node_id, positions in wanted.items()
        ]

    def _is_left_out(self, state: PartitionState) -> bool:
        """Whether a partition is not asked for because it is paused, or because enough of it lies here unread."""
        return state.paused or state.buffered_bytes >= self._policy.partition_max_bytes

    def _wait_ms(self, node_id: int, left_out: set[int]) -> int:
        """Returns how long a broker may wait for records.

        The time is short for a broker from which partitions that are left out are read: they cannot be asked for before
        its answer has come. It doubles with each fetch, because a partition that is paused may stay so for long.
        """
        if node_id not in left_out:
            self._short_waits.pop(node_id, None)
            return self._policy.max_wait_ms
        before = self._short_waits.get(node_id, 0)
        self._short_waits[node_id] = min(before + 1, _DOUBLINGS_MAX)
        return min(self._policy.max_wait_ms, _SHORT_WAIT_MS << before)

    def request(self, planned: PlannedFetch) -> FetchRequest:
        topics: dict[str, FetchTopic] = {}
        for (topic, partition), position in planned.plan.fetch.items():
            entry = topics.setdefault(topic, FetchTopic(topic=topic, topic_id=position.topic_id))
            entry.partitions.append(
                FetchPartition(
                    partition=partition,
                    current_leader_epoch=position.leader_epoch,
                    fetch_offset=position.offset,
                    partition_max_bytes=position.bytes_max,
                )
            )
        forgotten: dict[str, ForgottenTopic] = {}
        for (topic, partition), topic_id in planned.plan.forget.items():
            gone = forgotten.setdefault(topic, ForgottenTopic(topic=topic, topic_id=topic_id))
            gone.partitions.append(partition)
        return FetchRequest(
            max_wait_ms=planned.max_wait_ms,
            min_bytes=self._policy.min_bytes,
            max_bytes=self._policy.max_bytes,
            isolation_level=int(self._policy.read_committed),
            session_id=planned.plan.session_id,
            session_epoch=planned.plan.session_epoch,
            topics=list(topics.values()),
            forgotten_topics_data=list(forgotten.values()),
            rack_id=self._policy.rack,
        )

    def handle_response(
        self, planned: PlannedFetch, response: FetchResponse, now_ms: int
    ) -> KafkaError | None:
        """Returns an error of the whole answer, for the caller to wait a moment."""
        session = self._sessions[planned.node_id]
        if response.error_code:
            session.handle_error(response.error_code)
            error = error_for(response.error_code)
            self.metadata_wanted = True
            if not error.retriable:
                self._fail(planned, error)
            return error
        answers = planned.answers(response)
        wrong = session.mismatch({topic_partition for topic_partition, _ in answers})
        if wrong is not None:
            _LOGGER.warning("node %d answered a fetch with %s; ignored", planned.node_id, wrong)
            session.handle_lost_answer()
            return UnknownServerError(f"node {planned.node_id} answered a fetch with {wrong}")
        session.handle_answer(response.session_id)
        for topic_partition, answer in answers:
            state = self._asked(planned, topic_partition)
            if state is not None:
                self._handle_partition(state, answer, planned.node_id, now_ms)
        return None

    def handle_failure(self, planned: PlannedFetch, error: KafkaError) -> None:
        """Notes that the answer did not come. An error that will not pass is raised by poll()."""
        self._sessions[planned.node_id].handle_lost_answer()
        self.metadata_wanted = True
        for state in self._asked_states(planned):
            state.read_replica = None
        if not error.retriable:
            self._fail(planned, error)

    def finish(self, planned: PlannedFetch) -> None:
        """Notes that the broker may be asked again."""
        self._busy.discard(planned.node_id)

    def handle_metadata(self) -> None:
        """Notes that there is newer metadata of the cluster, or that none could be had: brokers may be asked again."""
        for state in self._subscription.partitions.values():
            state.awaits_metadata = False

    # ---- asking

    def _is_of_another_topic(self, state: PartitionState, cluster: ClusterMetadata) -> bool:
        """Whether what was fetched is of a topic that was deleted: positions in it mean nothing in
        the one that has its name now.
        """
        topic = cluster.topics.get(state.topic_partition.topic)
        if topic is None or topic.topic_id in (ZERO_UUID, state.topic_id):
            return False
        if state.topic_id != ZERO_UUID and state.position is not None:
            if state.has_fetched:
                return True  # what was fetched before is returned first
            _LOGGER.warning("topic %s was deleted and created again", topic.name)
            self._reset(state, f"{topic.name} was deleted and created again")
        elif state.topic_id != ZERO_UUID:
            state.ask_again()
        state.topic_id = topic.topic_id
        return False

    def _is_fetchable(
        self, state: PartitionState, cluster: ClusterMetadata, total_bytes: int
    ) -> bool:
        if state.fetch_offset is None or state.paused or state.error is not None:
            return False
        partition = cluster.partition(state.topic_partition)
        if partition is None or partition.leader not in cluster.nodes:
            self.metadata_wanted = True
            return False
        return (
            not state.awaits_metadata
            and not state.needs_validation(partition.leader_epoch)
            and state.buffered_bytes < self._policy.partition_max_bytes
            and total_bytes < self._policy.max_bytes
        )

    def _source(self, state: PartitionState, cluster: ClusterMetadata, now_ms: int) -> int:
        """Returns the follower that the leader has told us to prefer, as long as it is there; else the leader."""
        partition = cluster.partition(state.topic_partition)
        assert partition is not None, "the metadata names the partition"
        replica = state.read_replica
        if replica is not None:
            usable = replica.node_id in cluster.nodes
            if usable and replica.node_id not in partition.offline_replicas:
                if now_ms < replica.until_ms:
                    return replica.node_id
            else:
                self.metadata_wanted = True
            state.read_replica = None
        return partition.leader

    def _fetch_position(
        self, state: PartitionState, cluster: ClusterMetadata
    ) -> FetchRequestPartition:
        partition = cluster.partition(state.topic_partition)
        assert partition is not None, "only partitions with a leader are fetched"
        assert state.fetch_offset is not None, "only partitions with a position are fetched"
        return FetchRequestPartition(
            cluster.topics[state.topic_partition.topic].topic_id,
            state.fetch_offset,
            partition.leader_epoch,
            self._policy.partition_max_bytes,
        )

    def _planned(
        self,
        node_id: int,
        positions: dict[TopicPartition, FetchRequestPartition],
        max_wait_ms: int,
    ) -> PlannedFetch:
        self._busy.add(node_id)
        partitions = self._subscription.partitions
        session = self._sessions.setdefault(node_id, FetchSessionHandler())
        session.tell_of({tp for tp in positions if partitions[tp].high_watermark < 0})
        plan = session.plan(positions)
        return PlannedFetch(
            node_id,
            plan,
            {tp: partitions[tp].generation for tp in positions},
            {position.topic_id: tp.topic for tp, position in positions.items()},
            max_wait_ms,
        )

    # ---- answers

    def _fail(self, planned: PlannedFetch, error: KafkaError) -> None:
        for state in self._asked_states(planned):
            state.error = error

    def _asked_states(self, planned: PlannedFetch) -> list[PartitionState]:
        states = [self._asked(planned, topic_partition) for topic_partition in planned.generations]
        return [state for state in states if state is not None]

    def _asked(
        self, planned: PlannedFetch, topic_partition: TopicPartition
    ) -> PartitionState | None:
        """Returns the partition, unless it was given up or sought since."""
        state = self._subscription.partitions.get(topic_partition)
        if state is None or state.generation != planned.generations.get(topic_partition):
            return None
        return state

    def _handle_partition(
        self, state: PartitionState, answer: PartitionData, node_id: int, now_ms: int
    ) -> None:
        if answer.error_code:
            self._handle_error(state, answer.error_code, node_id)
            return
        if answer.preferred_read_replica >= 0:
            state.read_replica = ReadReplica(
                answer.preferred_read_replica, now_ms + self._policy.read_replica_ms
            )
        state.high_watermark = answer.high_watermark
        state.last_stable_offset = answer.last_stable_offset
        state.log_start_offset = answer.log_start_offset
        if not answer.records or state.fetch_offset is None:
            return
        self._take_records(state, answer)

    def _take_records(self, state: PartitionState, answer: PartitionData) -> None:
        records, fetch_offset = answer.records, state.fetch_offset
        assert isinstance(records, memoryview), "records of a decoded answer are views of its frame"
        assert fetch_offset is not None, "an answer is to a fetch at an offset"
        aborted = answer.aborted_transactions if self._policy.read_committed else None
        pairs = [(entry.first_offset, entry.producer_id) for entry in aborted or ()]
        try:
            chunk = FetchedChunk.fetched(records, fetch_offset, pairs)
        except KafkaError as error:
            state.error = CorruptBatch(
                state.topic_partition, fetch_offset, fetch_offset + 1, str(error)
            )
            state.error.__cause__ = error
            return
        state.chunks.append(chunk)
        state.buffered_bytes += len(chunk.records)
        state.fetch_offset, state.fetch_epoch = chunk.next_offset, chunk.leader_epoch

    def _handle_error(self, state: PartitionState, code: int, node_id: int) -> None:
        was_follower = state.read_replica is not None and state.read_replica.node_id == node_id
        if code == OffsetOutOfRange.code:
            if was_follower:
                state.read_replica = None  # it lags, or lost its log's start: the leader knows
            elif (
                not state.has_fetched
            ):  # what was fetched is returned before; then it is said again
                self._reset(state, f"offset {state.fetch_offset} is not in the log")
        elif code in _CURED_BY_METADATA:
            if code in _NOT_THE_REPLICA:
                state.read_replica = None
            state.awaits_metadata = self.metadata_wanted = True
        elif code == CorruptMessage.code:
            offset = state.fetch_offset or 0
            state.error = CorruptBatch(
                state.topic_partition, offset, offset + 1, "the broker cannot read it"
            )
        else:
            state.error = partition_error(code, state.topic_partition)

    def _reset(self, state: PartitionState, why: str) -> None:
        if self._policy.reset is None:
            state.error = OffsetOutOfRange(
                f"{state.topic_partition}: {why} and auto_offset_reset is none;"
                " seek to an offset that is"
            )
        else:
            _LOGGER.info("%s: %s, resetting the position", state.topic_partition, why)
            state.seek_to_reset(self._policy.reset)
