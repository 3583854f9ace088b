"""The position of a consumer in one partition, and the records it has fetched ahead.

Two positions: `position` is the next offset poll() will return, `fetch_offset` the next one to ask a broker for. What
lies between is in `chunks`. A seek starts a new `generation`, and so does a new assignment, so that answers to older
questions are recognised and dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from millstream.clients.consumer.core.fetched import DecodedBatch, FetchedChunk
from millstream.clients.consumer.core.offset_reset import AutoOffsetResetStrategy
from millstream.errors import KafkaError
from millstream.model import NO_LEADER_EPOCH, ZERO_UUID, TopicPartition, Uuid


class ReadReplica(NamedTuple):
    """A follower near us that the leader told us to fetch from (KIP-392), until we should ask the leader again."""

    node_id: int
    until_ms: int


@dataclass(slots=True, eq=False)
class PartitionState:
    topic_partition: TopicPartition
    position: int | None = None
    leader_epoch: int = NO_LEADER_EPOCH
    """Of the last record before `position`; goes into commits."""
    fetch_offset: int | None = None
    fetch_epoch: int = NO_LEADER_EPOCH
    """Of the last batch before `fetch_offset`."""
    validated_epoch: int = NO_LEADER_EPOCH
    """The leader of this epoch has the log up to `fetch_offset` as we read it (KIP-320)."""
    doubted_epoch: int = NO_LEADER_EPOCH
    """The epoch of `fetch_offset` of which the metadata was asked anew, as its leader is older."""
    topic_id: Uuid = ZERO_UUID
    """Of the topic that the positions belong to; zero until something was asked for."""
    reset: AutoOffsetResetStrategy | None = None
    """Ask ListOffsets for a position."""
    committed_wanted: bool = False
    """Ask the group for a position before anything else."""
    asked_generation: int = -1
    """The generation for which a broker is being asked for a position, or to confirm it."""
    read_replica: ReadReplica | None = None
    awaits_metadata: bool = False
    """The broker asked last was the wrong one, or not ready: wait for newer metadata."""
    paused: bool = False
    generations: Iterator[int] = field(default_factory=count, repr=False)
    """Shared with the states that a partition has when it is assigned again: an answer to one of them is for no
    other."""
    generation: int = field(init=False)
    chunks: deque[FetchedChunk] = field(default_factory=deque)
    decoded: DecodedBatch | None = None
    decoded_index: int = 0
    buffered_bytes: int = 0
    last_turn: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    error: KafkaError | None = None
    """To be raised by the next poll()."""

    def __post_init__(self) -> None:
        self.generation = next(self.generations)

    def seek(self, offset: int, leader_epoch: int = NO_LEADER_EPOCH) -> None:
        self._start_over()
        self.position = self.fetch_offset = offset
        self.leader_epoch = self.fetch_epoch = leader_epoch

    def seek_to_reset(self, reset: AutoOffsetResetStrategy) -> None:
        """Seeks to the offset that the leader gives for `reset`."""
        self._start_over()
        self.reset = reset

    def seek_to_committed(self) -> None:
        """Seeks to the offset that the group has committed."""
        self._start_over()
        self.committed_wanted = True

    def ask_again(self) -> None:
        """Drops the answer to what is being asked: it is of a topic that is gone."""
        self.generation = next(self.generations)

    def fetch_again(self) -> None:
        """Forgets what was fetched ahead."""
        assert self.position is not None, "what was fetched has a position"
        self.seek(self.position, self.leader_epoch)

    @property
    def is_asking(self) -> bool:
        return self.asked_generation == self.generation

    @property
    def has_fetched(self) -> bool:
        decoded = self.decoded
        return bool(self.chunks) or (decoded is not None and self.decoded_index < decoded.count)

    def needs_validation(self, leader_epoch: int) -> bool:
        """Whether it must be asked if the leader's log still holds the batch before `fetch_offset`: the leader has
        changed since that was written.

        A leader of an earlier epoch than the batch, too, once newer metadata knows of no later one: the position was
        kept when another topic had this name, and its offset means nothing here.
        """
        epochs_differ = leader_epoch not in (self.fetch_epoch, NO_LEADER_EPOCH)
        return (
            self.fetch_epoch != NO_LEADER_EPOCH
            and epochs_differ
            and leader_epoch != self.validated_epoch
        )

    def drop_chunk(self) -> None:
        """Drops the first chunk, which was read to its end, or is not wanted."""
        chunk = self.chunks.popleft()
        self.buffered_bytes -= len(chunk.records)
        self.decoded, self.decoded_index = None, 0
        self.position = max(self.position or 0, chunk.next_offset)

    def _start_over(self) -> None:
        self.generation = next(self.generations)
        self.chunks.clear()
        self.decoded, self.decoded_index = None, 0
        self.buffered_bytes = 0
        self.position = self.fetch_offset = None
        self.leader_epoch = self.fetch_epoch = self.validated_epoch = NO_LEADER_EPOCH
        self.doubted_epoch = NO_LEADER_EPOCH
        self.reset = None
        self.committed_wanted = False
        self.error = None
