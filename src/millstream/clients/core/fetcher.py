"""What to fetch from whom, and what an answer means for the positions.

One fetch per broker is in flight. A partition is asked for while less than a fetch's worth of it lies unread, so the
next chunk travels while the last one is being read, and a slow reader of one partition does not hold up the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.clients.core.cluster_metadata import ClusterMetadata
from millstream.clients.core.fetch_session import FetchPosition, FetchSession, SessionPlan
from millstream.clients.core.fetched import (
    DecodedBatch,
    FetchedChunk,
    next_offset_of,
    partition_error,
    visible_batches,
)
from millstream.clients.core.leader_news import LeaderNews
from millstream.clients.core.subscription import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    PartitionState,
    SubscriptionState,
)
from millstream.clients.core.values import ConsumerRecord
from millstream.errors import KafkaError, OffsetOutOfRange, error_for
from millstream.model import ZERO_UUID, TopicPartition, Uuid
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)

_STALE_LEADER = (3, 5, 6, 9, 56, 74, 75, 78, 100, 103)
"""Codes that a refresh of metadata cures."""
_FIRST_VERSION_WITH_TOPIC_IDS = 13
RESET_TIMESTAMPS = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    min_bytes: int
    max_wait_ms: int
    max_bytes: int
    partition_max_bytes: int
    read_committed: bool
    check_crcs: bool
    auto_offset_reset: str
    rack: str = ""


@dataclass(frozen=True, slots=True)
class FetchIntent:
    node_id: int
    plan: SessionPlan
    generations: dict[TopicPartition, int]
    topic_names: dict[Uuid, str]

    @property
    def version_max(self) -> int:
        """Version 13 names topics by id only."""
        return _FIRST_VERSION_WITH_TOPIC_IDS - 1 if ZERO_UUID in self.topic_names else 2**15

    def news(self, response: FetchResponse) -> LeaderNews:
        answers = (
            (
                TopicPartition(
                    topic.topic or self.topic_names.get(topic.topic_id, ""),
                    partition.partition_index,
                ),
                partition.current_leader,
            )
            for topic in response.responses
            for partition in topic.partitions
        )
        return LeaderNews.collect(answers, response.node_endpoints)


class Fetcher:
    def __init__(self, policy: FetchPolicy, subscription: SubscriptionState) -> None:
        self._policy = policy
        self._subscription = subscription
        self._sessions: dict[int, FetchSession] = {}
        self._busy: set[int] = set()
        self._turns = 0
        self.metadata_wanted = False

    def plan(self, cluster: ClusterMetadata) -> list[FetchIntent]:
        """A request for each broker that has something for us and no fetch of ours in flight."""
        wanted: dict[int, dict[TopicPartition, FetchPosition]] = {}
        total = sum(state.buffered_bytes for state in self._subscription.partitions.values())
        for topic_partition, state in self._subscription.partitions.items():
            if state.fetch_offset is None or state.paused or state.error is not None:
                continue
            leader = cluster.leader(topic_partition)
            if leader is None:
                self.metadata_wanted = True
                continue
            if leader in self._busy or not self._has_room(state, total):
                continue
            partition = cluster.partition(topic_partition)
            assert partition is not None, "a leader is known of known partitions only"
            wanted.setdefault(leader, {})[topic_partition] = FetchPosition(
                cluster.topics[topic_partition.topic].topic_id,
                state.fetch_offset,
                partition.leader_epoch,
                self._policy.partition_max_bytes,
            )
        return [self._intent(node_id, positions) for node_id, positions in wanted.items()]

    def request(self, intent: FetchIntent) -> FetchRequest:
        topics: dict[str, FetchTopic] = {}
        for (topic, partition), position in intent.plan.fetch.items():
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
        for (topic, partition), topic_id in intent.plan.forget.items():
            gone = forgotten.setdefault(topic, ForgottenTopic(topic=topic, topic_id=topic_id))
            gone.partitions.append(partition)
        return FetchRequest(
            max_wait_ms=self._policy.max_wait_ms,
            min_bytes=self._policy.min_bytes,
            max_bytes=self._policy.max_bytes,
            isolation_level=int(self._policy.read_committed),
            session_id=intent.plan.session_id,
            session_epoch=intent.plan.session_epoch,
            topics=list(topics.values()),
            forgotten_topics_data=list(forgotten.values()),
            rack_id=self._policy.rack,
        )

    def handle_response(self, intent: FetchIntent, response: FetchResponse) -> KafkaError | None:
        """Returns an error of the whole answer, for the caller to wait a moment."""
        self._busy.discard(intent.node_id)
        session = self._sessions[intent.node_id]
        if response.error_code:
            session.handle_error()
            self.metadata_wanted = True
            return error_for(response.error_code)
        session.handle_answer(response.session_id)
        for topic in response.responses:
            name = topic.topic or intent.topic_names.get(topic.topic_id, "")
            for partition in topic.partitions:
                topic_partition = TopicPartition(name, partition.partition_index)
                state = self._subscription.partitions.get(topic_partition)
                if state is not None and state.generation == intent.generations.get(
                    topic_partition
                ):
                    self._handle_partition(state, partition)
        return None

    def handle_failure(self, intent: FetchIntent) -> None:
        """The answer did not come."""
        self._busy.discard(intent.node_id)
        self._sessions[intent.node_id].handle_lost_answer()
        self.metadata_wanted = True

    def take_records(self, count_max: int) -> list[ConsumerRecord]:
        """Up to `count_max` records, advancing positions.

        Raises CorruptMessage and the like for a batch that cannot be read, when nothing stands before it.
        """
        taken: list[ConsumerRecord] = []
        for state in self._readable_in_turn():
            try:
                self._take_from(state, taken, count_max)
            except KafkaError:
                state.decoded, state.decoded_index = None, 0
                state.chunks[
                    0
                ].batches = None  # met again by the next call, unless the caller seeks
                if not taken:
                    raise
                break
            if len(taken) >= count_max:
                break
        return taken

    def next_chunk(self) -> tuple[PartitionState, int, FetchedChunk] | None:
        """The next chunk whole, with the offset to start at in it. It stays until `finish_chunk`."""
        for state in self._readable_in_turn():
            if state.chunks:
                assert state.position is not None, "what was fetched has a position"
                return state, state.position, state.chunks[0]
        return None

    def finish_chunk(self, state: PartitionState) -> None:
        """The chunk was read to its end: advance the position behind it."""
        self._drop_chunk(state)

    def raise_error(self) -> None:
        """Raise the error of a partition, once."""
        for state in self._subscription.partitions.values():
            if state.error is not None and not state.has_fetched:
                error, state.error = state.error, None
                raise error

    def _has_room(self, state: PartitionState, total_bytes: int) -> bool:
        return (
            state.buffered_bytes < self._policy.partition_max_bytes
            and total_bytes < self._policy.max_bytes
        )

    def _intent(self, node_id: int, positions: dict[TopicPartition, FetchPosition]) -> FetchIntent:
        self._busy.add(node_id)
        plan = self._sessions.setdefault(node_id, FetchSession()).plan(positions)
        partitions = self._subscription.partitions
        return FetchIntent(
            node_id,
            plan,
            {tp: partitions[tp].generation for tp in positions},
            {position.topic_id: tp.topic for tp, position in positions.items()},
        )

    def _handle_partition(self, state: PartitionState, answer: PartitionData) -> None:
        code = answer.error_code
        if code == OffsetOutOfRange.code:
            self._offset_out_of_range(state)
            return
        if code in _STALE_LEADER:
            self.metadata_wanted = True
            return
        if code:
            state.error = partition_error(code, state.topic_partition)
            return
        state.high_watermark = answer.high_watermark
        state.last_stable_offset = answer.last_stable_offset
        state.log_start_offset = answer.log_start_offset
        records = answer.records
        if not records or state.fetch_offset is None:
            return
        assert isinstance(records, memoryview), "records of a decoded answer are views of its frame"
        next_offset = next_offset_of(records, state.fetch_offset)
        if next_offset == state.fetch_offset:
            return
        aborted = [] if not self._policy.read_committed else answer.aborted_transactions or []
        chunk = FetchedChunk(
            records, next_offset, [(entry.first_offset, entry.producer_id) for entry in aborted]
        )
        state.chunks.append(chunk)
        state.buffered_bytes += len(records)
        state.fetch_offset = next_offset

    def _offset_out_of_range(self, state: PartitionState) -> None:
        if state.has_fetched:
            return  # what was fetched before is returned first; the next fetch says it again
        timestamp = RESET_TIMESTAMPS.get(self._policy.auto_offset_reset)
        if timestamp is None:
            state.error = OffsetOutOfRange(
                f"{state.topic_partition}: offset {state.fetch_offset} is not in the log and auto_offset_reset is none;"
                " seek to an offset that is"
            )
        else:
            state.seek_to_timestamp(timestamp)

    def _readable_in_turn(self) -> list[PartitionState]:
        """Partitions with something to return; those whose last chunk was used up most recently come last."""
        states = [
            state
            for state in self._subscription.partitions.values()
            if not state.paused and state.has_fetched
        ]
        if len(states) > 1:
            states.sort(key=lambda state: state.last_turn)
        return states

    def _take_from(
        self, state: PartitionState, taken: list[ConsumerRecord], count_max: int
    ) -> None:
        while len(taken) < count_max and self._decode_more(state):
            decoded = state.decoded
            assert decoded is not None, "records are at hand"
            start = state.decoded_index
            stop = min(decoded.count, start + count_max - len(taken))
            taken += decoded.records(start, stop)
            state.decoded_index = stop
            if stop < decoded.count:
                state.position = decoded.offset_of(stop)
            else:
                state.position = decoded.offset_of(stop - 1) + 1

    def _decode_more(self, state: PartitionState) -> bool:
        """Have decoded records at hand; False when the partition has none left. Drops what was read."""
        while state.decoded is None or state.decoded_index >= state.decoded.count:
            if not state.chunks:
                return False
            chunk = state.chunks[0]
            if chunk.batches is None:
                chunk.batches = visible_batches(
                    chunk, state.topic_partition, check_crcs=self._policy.check_crcs
                )
            item = next(chunk.batches, None)
            if item is None:
                self._drop_chunk(state)
                continue
            header, view = item
            position = state.position
            assert position is not None, "what was fetched has a position"
            if header.last_offset >= position:
                state.decoded = DecodedBatch(state.topic_partition, header, view, position)
                state.decoded_index = 0
                state.leader_epoch = header.partition_leader_epoch
        return True

    def _drop_chunk(self, state: PartitionState) -> None:
        chunk = state.chunks.popleft()
        state.buffered_bytes -= len(chunk.records)
        state.decoded, state.decoded_index = None, 0
        state.position = max(state.position or 0, chunk.next_offset)
        self._turns += 1
        state.last_turn = self._turns
