"""Chooses the brokers to ask before a partition can be fetched, and interprets their answers.

A partition without a position gets one from its group's committed offset, else from where `auto_offset_reset` points.
One whose leader has changed is fetched again only after the new leader confirmed that its log still holds what was read
(KIP-320). Every leader is asked on its own, so that a broker that is down keeps back its own partitions only.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.consumer.core.errors import LogTruncation, NoOffsetForPartition
from millstream.clients.consumer.core.offset_reset import AutoOffsetResetStrategy
from millstream.clients.consumer.core.partition_state import PartitionState
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.core.values import OffsetAndMetadata, OffsetAndTimestamp
from millstream.errors import KafkaError
from millstream.model import NO_LEADER_EPOCH, TopicPartition, Uuid

_LOGGER = logging.getLogger(__name__)

Generations = Mapping[TopicPartition, int]


class EpochEndOffset(NamedTuple):
    """The end, in the leader's log, of the largest epoch that is not above the one asked for; -1 when it knows none."""

    leader_epoch: int
    end_offset: int


class EpochQuestion(NamedTuple):
    """Asks whether the log of the leader of `current_leader_epoch` goes up to `offset` at `leader_epoch`."""

    current_leader_epoch: int
    leader_epoch: int
    offset: int


@dataclass(frozen=True, slots=True)
class CommittedQuery:
    """Asks the group's coordinator for committed offsets. `topic_ids`: as far as the topics are known."""

    generations: Generations
    topic_ids: Mapping[TopicPartition, Uuid]


@dataclass(frozen=True, slots=True)
class ResetQuery:
    """Asks a leader for offsets, with ListOffsets."""

    node_id: int
    generations: Generations
    resets: Mapping[TopicPartition, AutoOffsetResetStrategy]


@dataclass(frozen=True, slots=True)
class EpochQuery:
    """Asks a leader for the ends of epochs, with OffsetForLeaderEpoch."""

    node_id: int
    generations: Generations
    questions: Mapping[TopicPartition, EpochQuestion]


PositionQuery = CommittedQuery | ResetQuery | EpochQuery


class Positions:
    def __init__(
        self, subscription: SubscriptionState, reset: AutoOffsetResetStrategy | None
    ) -> None:
        """With `reset` None a partition without a position is an error."""
        self._subscription = subscription
        self._reset = reset
        self.metadata_wanted = False
        self.unheard_epochs: dict[tuple[Uuid, TopicPartition], int] = {}
        """Of positions whose leader is older in the metadata, for the caller to ask brokers about: ours may be old, or
        the position is of another topic that had the name.
        """

    def want(self, state: PartitionState, *, has_group: bool) -> None:
        """Has a new partition start where the group stands if there is one, else as auto_offset_reset says."""
        if has_group:
            state.seek_to_committed()
        else:
            self._reset_or_fail(state)

    def plan(self, cluster: ClusterMetadata) -> list[PositionQuery]:
        """Plans the questions that are not asked yet. `finish` each when its partitions may be asked about again."""
        committed: list[PartitionState] = []
        resets: dict[int, dict[TopicPartition, AutoOffsetResetStrategy]] = {}
        questions: dict[int, dict[TopicPartition, EpochQuestion]] = {}
        for topic_partition, state in self._subscription.partitions.items():
            if state.is_asking or state.error is not None:
                continue
            if state.committed_wanted:
                # By the name alone it could not be told of which topic an offset is. Whoever assigns asks for metadata.
                # Where brokers refuse to tell of the topic the coordinator is asked all the same: it says why.
                topic = topic_partition.topic
                if topic in cluster.topics or topic in cluster.topic_errors:
                    committed.append(state)
                continue
            leader = cluster.partition(topic_partition)
            if leader is None or leader.leader not in cluster.nodes:
                self.metadata_wanted = self.metadata_wanted or state.reset is not None
            elif state.reset is not None:
                resets.setdefault(leader.leader, {})[topic_partition] = state.reset
            elif NO_LEADER_EPOCH < leader.leader_epoch < state.fetch_epoch != state.doubted_epoch:
                state.doubted_epoch = state.fetch_epoch
                topic_id = cluster.topics[topic_partition.topic].topic_id
                self.unheard_epochs[topic_id, topic_partition] = state.fetch_epoch
            elif state.fetch_offset is not None and state.needs_validation(leader.leader_epoch):
                questions.setdefault(leader.leader, {})[topic_partition] = EpochQuestion(
                    leader.leader_epoch, state.fetch_epoch, state.fetch_offset
                )
            elif state.position is None:
                self._reset_or_fail(state)
        queries: list[PositionQuery] = []
        if committed:
            partitions = [state.topic_partition for state in committed]
            queries.append(CommittedQuery(self._ask(partitions), cluster.topic_ids(partitions)))
        queries += [ResetQuery(node, self._ask(asked), asked) for node, asked in resets.items()]
        queries += [EpochQuery(node, self._ask(asked), asked) for node, asked in questions.items()]
        return queries

    def is_unanswered(self, query: PositionQuery) -> bool:
        """Tells whether a query must be asked again; better not at once."""
        return any(
            state.position is None or self._is_unsure(query, state) for state in self._asked(query)
        )

    def finish(self, query: PositionQuery) -> None:
        """Ends a query. Partitions that got no answer may be asked about again."""
        for state in self._asked(query):
            state.asked_generation = -1

    def handle_committed(
        self, query: CommittedQuery, found: Mapping[TopicPartition, OffsetAndMetadata | KafkaError]
    ) -> None:
        for state in self._asked(query):
            committed = found.get(state.topic_partition)
            if isinstance(committed, KafkaError):
                self._handle_error(state, committed)
            elif committed is not None:
                state.seek(committed.offset, committed.leader_epoch)
            else:
                self._reset_or_fail(state)

    def handle_offsets(
        self, query: ResetQuery, found: Mapping[TopicPartition, OffsetAndTimestamp | KafkaError]
    ) -> None:
        for state in self._asked(query):
            offset = found.get(state.topic_partition)
            if isinstance(offset, KafkaError):
                self._handle_error(state, offset)
            elif offset is not None:
                state.seek(offset.offset, offset.leader_epoch)

    def handle_epochs(
        self, query: EpochQuery, found: Mapping[TopicPartition, EpochEndOffset | KafkaError]
    ) -> None:
        for state in self._asked(query):
            end = found.get(state.topic_partition)
            if isinstance(end, KafkaError):
                self._handle_error(state, end)
            elif end is not None:
                self._handle_end(state, query.questions[state.topic_partition], end)

    def handle_unsupported(self, query: EpochQuery) -> None:
        """Notes that the broker knows nothing of epochs: it has to be believed."""
        for state in self._asked(query):
            state.validated_epoch = query.questions[state.topic_partition].current_leader_epoch

    def handle_failure(self, query: PositionQuery, error: KafkaError) -> None:
        """Notes that the whole request failed."""
        for state in self._asked(query):
            self._handle_error(state, error)

    def _ask(self, partitions: Iterable[TopicPartition]) -> Generations:
        generations = {}
        for topic_partition in partitions:
            state = self._subscription.partitions[topic_partition]
            state.asked_generation = generations[topic_partition] = state.generation
        return generations

    def _asked(self, query: PositionQuery) -> list[PartitionState]:
        """Returns the query's partitions, but for those given up or sought since."""
        found = self._subscription.partitions
        return [
            state
            for topic_partition, generation in query.generations.items()
            if (state := found.get(topic_partition)) is not None and state.generation == generation
        ]

    def _is_unsure(self, query: PositionQuery, state: PartitionState) -> bool:
        if not isinstance(query, EpochQuery):
            return False
        return state.needs_validation(query.questions[state.topic_partition].current_leader_epoch)

    def _handle_error(self, state: PartitionState, error: KafkaError) -> None:
        if error.retriable:
            self.metadata_wanted = True
        else:
            state.error = error

    def _reset_or_fail(self, state: PartitionState) -> None:
        if self._reset is not None:
            state.seek_to_reset(self._reset)
        else:
            state.error = NoOffsetForPartition(
                f"{state.topic_partition} has no committed offset and auto_offset_reset is none; seek to where to start"
            )

    def _handle_end(self, state: PartitionState, asked: EpochQuestion, end: EpochEndOffset) -> None:
        if (state.fetch_epoch, state.fetch_offset) != (asked.leader_epoch, asked.offset):
            return  # a fetch was answered in between: the question is asked again
        known = end.leader_epoch >= 0 and end.end_offset >= 0
        if known and end.end_offset >= asked.offset:
            state.validated_epoch = asked.current_leader_epoch
        elif state.position != asked.offset:
            state.fetch_again()  # what was fetched ahead is gone; is what was returned?
        elif self._reset is None:
            diverging = OffsetAndMetadata(end.end_offset, "", end.leader_epoch) if known else None
            state.error = LogTruncation(state.topic_partition, asked.offset, diverging)
        else:
            _LOGGER.warning(
                "%s: the log was cut below offset %d", state.topic_partition, asked.offset
            )
            if known:
                state.seek(end.end_offset, end.leader_epoch)
                state.validated_epoch = asked.current_leader_epoch
            else:
                state.seek_to_reset(self._reset)
