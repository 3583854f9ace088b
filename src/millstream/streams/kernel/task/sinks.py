"""Sinks: rows become bytes and wait, by topic, for the runner to take them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import compress
from typing import Any

from millstream.streams.dropped_records import DropReason
from millstream.streams.errors import ProcessingError
from millstream.streams.handlers import SerializationOrigin
from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes
from millstream.streams.kernel.columns.batch import Batch, SinkBatch, concatenate
from millstream.streams.kernel.columns.column import Data, written_as_it_came
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.task.failures import Failures
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import Windowed, window_bytes
from millstream.streams.topology.nodes import SinkNode


class SinkRecords:
    """Records that a task has written, by topic. Within one run, those of several sinks are merged by ordinal."""

    def __init__(self) -> None:
        self._ready: dict[str, list[SinkBatch]] = {}
        self._run: dict[str, list[tuple[list[int], SinkBatch]]] = {}

    def append(self, ordinals: list[int], batch: SinkBatch) -> None:
        self._run.setdefault(batch.topic, []).append((ordinals, batch))

    def append_ready(self, batch: SinkBatch) -> None:
        """Records that belong to no run: they stand where the run after them begins."""
        self.end_run()
        self.append([0], batch)
        self.end_run()

    def append_letter(self, letter: SinkBatch, ordinal: int | None) -> None:
        """Appends a dead letter of the record with this ordinal; None: of no record of the run."""
        if ordinal is None:
            self.append_ready(letter)
        else:
            self.append([ordinal], letter)

    def end_run(self) -> None:
        """All sinks have given their rows of one run: bring each topic's records into order."""
        for topic, parts in self._run.items():
            batch = concatenate([part for _, part in parts])
            if len(parts) > 1:
                ordinals = [ordinal for each, _ in parts for ordinal in each]
                if ordinals != sorted(ordinals):
                    batch = batch.take(sorted(range(len(ordinals)), key=ordinals.__getitem__))
            self._ready.setdefault(topic, []).append(batch)
        self._run = {}

    def discard(self) -> None:
        """Forget everything that was not taken."""
        self._ready = {}
        self._run = {}

    def take(self) -> dict[str, SinkBatch]:
        """Everything written so far; collecting starts anew."""
        self.end_run()
        ready, self._ready = self._ready, {}
        return {topic: concatenate(batches) for topic, batches in ready.items()}


class Sink(Operator):
    """A sink node. `topic_name` turns the topology's topic into the real one."""

    def __init__(
        self,
        context: NodeContext,
        node: SinkNode,
        serdes: tuple[Serde[Any], Serde[Any]],  # Any: a sink of any type
        records: SinkRecords,
        *,
        topic_name: Callable[[str], str],
        failures: Failures,
        aligned: frozenset[str] = frozenset(),
    ) -> None:
        """`aligned`: the topics whose records tell their origin times."""
        super().__init__(context)
        self._failures = failures
        self._node = node
        self._key, self._value = serdes
        self._records = records
        self._aligned = aligned
        self._topic_name = topic_name
        self._topic = topic_name(node.topic) if isinstance(node.topic, str) else None
        if self._topic is not None:
            context.counts.produced[self.node, self._topic] = 0

    def process(self, batch: Batch) -> Batch:
        if not len(batch):
            return batch
        topics = [self._topic] * len(batch) if self._topic else self._extracted(batch)
        columns = self._written_columns(batch)
        if columns is None:
            self._write_one_by_one(topics, batch)
        elif self._topic is not None:
            self._append(self._topic, batch, *columns)
        else:
            for topic in dict.fromkeys(topics):
                mask = [each == topic for each in topics]
                keys, values = (list(compress(column, mask)) for column in columns)
                self._append(topic, batch.where(mask), keys, values)
        return Batch([], [], [], [], [])

    def _extracted(self, batch: Batch) -> list[str]:
        extract = self._node.topic
        assert not isinstance(extract, str), "a fixed topic is not extracted"
        record_context = self.current.record_context
        try:
            return [
                _checked_topic(extract(key, value, record_context(ordinal, timestamp, headers)))
                for key, value, ordinal, timestamp, headers in zip(
                    batch.keys,
                    batch.values,
                    batch.ordinals,
                    batch.timestamps,
                    batch.headers,
                    strict=True,
                )
            ]
        except Exception as error:
            raise self._failed("topic extractor", batch, error) from error

    def _written_columns(self, batch: Batch) -> tuple[Data | ArrowBytes, Data | ArrowBytes] | None:
        """All rows at once, or None where they must be looked at one by one."""
        try:
            return (
                written_as_it_came(batch.key_column, self._key),
                written_as_it_came(batch.value_column, self._value),
            )
        except Exception:  # noqa: BLE001  # some row cannot be written; the caller finds out which
            return None

    def _write_one_by_one(self, topics: Sequence[str], batch: Batch) -> None:
        """Those rows that the serdes can write; the dead letter of another stands in its place between them."""
        keys: list[bytes | None] = []
        values: list[bytes | None] = []

        def append(end: int) -> None:
            """The rows before this one that wait, all of one topic."""
            first = end - len(keys)
            if first < end:
                self._append(topics[first], batch.part(first, end), keys[:], values[:])
            keys.clear()
            values.clear()

        for row, (key, value) in enumerate(zip(batch.keys, batch.values, strict=True)):
            if keys and topics[row] != topics[row - 1]:
                append(row)
            origin = SerializationOrigin.KEY
            try:
                raw_key = None if key is None else self._key.encode(key)
                origin = SerializationOrigin.VALUE
                raw_value = None if value is None else self._value.encode(value)
            except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
                append(row)
                one = batch.take((row,))
                self._failures.handle_serialization_failure(
                    self.node, topics[row], one, origin, error
                )
            else:
                keys.append(raw_key)
                values.append(raw_value)
        append(len(batch))

    def _append(
        self, topic: str, batch: Batch, keys: Sequence[bytes | None], values: Sequence[bytes | None]
    ) -> None:
        records = SinkBatch(topic, keys, values, batch.timestamps, batch.headers)
        ordinals = batch.ordinals
        if self._node.partitioner is not None:
            ordinals, records = self._partitioned(records, batch)
        elif self._key.inner is not None:
            records.partition_keys = self._inner_keys(batch, keys)
        if topic in self._aligned:
            records.origin_times = self.current.origin_times_of(ordinals)
        self.context.counts.count_produced(self.node, records)
        self._records.append(ordinals, records)

    def _failed(self, what: str, batch: Batch, error: Exception) -> ProcessingError:
        place = self.current.place_of(batch)
        return ProcessingError(f"the {what} of sink {self.node} failed on {place}: {error!r}")

    def _partitioned(self, records: SinkBatch, batch: Batch) -> tuple[list[int], SinkBatch]:
        """The records with the partitions that the user's partitioner gives, and the ordinal of each.

        A record that is given several partitions is written to each (KIP-837); one that is given none is dropped.
        """
        partitioner, count = self._node.partitioner, self.context.config.partition_count
        assert partitioner is not None, "asked for only where the sink has a partitioner"
        number = None if count is None else count(records.topic)
        rows: list[int] = []
        partitions: list[int | None] = []
        try:
            for row, (key, value) in enumerate(zip(batch.keys, batch.values, strict=True)):
                given = partitioner(records.topic, key, value, number or 1)
                several = sorted(given) if isinstance(given, Collection) else (given,)
                for partition in several:
                    partitions.append(_checked_partition(partition, number))
                    rows.append(row)
                if not several:
                    row_at = batch.ordinals[row], batch.timestamps[row]
                    self.context.drop(DropReason.NO_PARTITION, row_at)
        except Exception as error:
            raise self._failed("partitioner", batch, error) from error
        records = records.take(rows)
        records.partitions = partitions
        return [batch.ordinals[row] for row in rows], records

    def _inner_keys(self, batch: Batch, keys: Sequence[bytes | None]) -> Data:
        """Windowed keys are partitioned by their inner key, which is what their bytes begin with."""
        inner, layout = self._key.inner, self._key.layout
        assert inner is not None, "asked for only where the key is windowed"
        if layout is not None:
            end = -window_bytes(self._key)
            return [None if key is None else key[:end] for key in keys]
        return [inner.encode(key.key) if isinstance(key, Windowed) else None for key in batch.keys]


def _checked_topic(topic: object) -> str:
    if not isinstance(topic, str) or not topic:
        raise TypeError(f"a topic is a str, not {topic!r}")
    return topic


def _checked_partition(partition: object, number: int | None) -> int | None:
    """`number`: of the topic's partitions, None where the runner does not tell."""
    if partition is None:
        return None
    if not isinstance(partition, int):
        raise TypeError(
            f"a partition is an int, several, or None for the default, not {partition!r}"
        )
    if partition < 0 or (number is not None and partition >= number):
        raise ValueError(f"there is no partition {partition}")
    return partition
