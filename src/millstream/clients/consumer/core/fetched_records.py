"""Hands out what was fetched: partitions in turn, positions moved as far as records are handed out and no further."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from millstream.clients.consumer.core.fetched import (
    DecodedBatch,
    FetchedChunk,
    decode_batch,
    visible_batches,
)
from millstream.clients.consumer.core.partition_state import PartitionState
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.core.deserialization import RecordReader
from millstream.clients.core.values import Key, Value
from millstream.errors import KafkaError, MillstreamError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.clients.core.values import ConsumerRecord
    from millstream.records.batch import BatchHeader


class FetchedRecords:
    def __init__(self, subscription: SubscriptionState, *, check_crcs: bool) -> None:
        self._subscription = subscription
        self._check_crcs = check_crcs
        self._turns = 0

    def take(
        self, count_max: int, reader: RecordReader[Key, Value] | None = None
    ) -> list[ConsumerRecord[Key, Value]]:
        """Returns up to `count_max` records, deserialized by `reader`, and advances positions.

        Raises CorruptBatch, RecordDeserializationError or LookupNeeded for what cannot be read, when nothing stands
        before it; the position stays at it.
        """
        taken: list[ConsumerRecord[Key, Value]] = []
        for state in self._in_turn():
            try:
                self._take_from(state, taken, count_max, reader)
            except MillstreamError:
                if not taken:
                    raise
                break
            if len(taken) >= count_max:
                break
        return taken

    def next_chunk(self) -> tuple[PartitionState, int, FetchedChunk] | None:
        """Returns the next chunk whole, with the offset to start at in it. It stays until `finish_chunk`."""
        for state in self._in_turn():
            if state.chunks:
                assert state.position is not None, "what was fetched has a position"
                return state, state.position, state.chunks[0]
        return None

    def finish_chunk(self, state: PartitionState) -> None:
        """Notes that the chunk was read to its end, and advances the position behind it."""
        state.leader_epoch = state.chunks[0].leader_epoch
        self._drop_chunk(state)

    def raise_error(self) -> None:
        """Raises the error of a partition, once, when nothing that was fetched before it is left."""
        for state in self._subscription.partitions.values():
            if state.error is not None and not state.has_fetched:
                error, state.error = state.error, None
                raise error

    def _in_turn(self) -> Sequence[PartitionState]:
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
        self,
        state: PartitionState,
        taken: list[ConsumerRecord[Key, Value]],
        count_max: int,
        reader: RecordReader[Key, Value] | None,
    ) -> None:
        while len(taken) < count_max and self._decode_more(state):
            decoded = state.decoded
            assert decoded is not None, "records are at hand"
            start = state.decoded_index
            stop = min(decoded.count, start + count_max - len(taken))
            raw = decoded.records(start, stop)
            error = None
            if reader is None:
                taken += cast("list[ConsumerRecord[Key, Value]]", raw)
            else:
                used, error = reader.read(raw, taken)
                stop = start + used
            if stop > start:
                state.leader_epoch = raw[stop - start - 1].leader_epoch
                _advance(state, decoded, stop)
            if error is not None:
                raise error

    def _decode_more(self, state: PartitionState) -> bool:
        """Decodes the next batch where none is at hand; returns False when the partition has none left.

        Drops what was read.
        """
        while state.decoded is None or state.decoded_index >= state.decoded.count:
            if not state.chunks:
                return False
            chunk = state.chunks[0]
            try:
                if chunk.batches is None:
                    chunk.batches = visible_batches(
                        chunk, state.topic_partition, check_crcs=self._check_crcs
                    )
                item = next(chunk.batches, None)
                if item is not None:
                    self._decode(state, *item)
            except KafkaError:
                chunk.batches = None  # met again by the next call, unless the caller seeks
                raise
            if item is None:
                self._drop_chunk(state)
        return True

    def _decode(self, state: PartitionState, header: BatchHeader, view: memoryview) -> None:
        position = state.position
        assert position is not None, "what was fetched has a position"
        if header.last_offset < position:
            return
        state.decoded = decode_batch(state.topic_partition, header, view, position)
        state.decoded_index = 0

    def _drop_chunk(self, state: PartitionState) -> None:
        state.drop_chunk()
        self._turns += 1
        state.last_turn = self._turns


def _advance(state: PartitionState, decoded: DecodedBatch, stop: int) -> None:
    """Notes that rows before `stop` are handed out."""
    state.decoded_index = stop
    if stop < decoded.count:
        state.position = decoded.offset_of(stop)
    else:
        state.position = decoded.offset_of(stop - 1) + 1
