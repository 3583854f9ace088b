"""The topic and the partition of rows: what options say, functions of users, and round-robin.

A function is called for each row, with Python objects; without one rows stay Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, Protocol

from millstream.errors import ConfigError, MillstreamError
from millstream.runtime.system import SystemRandom
from millstream.spark.format_options import function_named

if TYPE_CHECKING:
    import pyarrow as pa

KNOWN: Final = ("topicSelector", "partitioner", "deadLetterTopic")
MURMUR2: Final = "murmur2"
_ROUND_ROBIN: Final = "round-robin"


@dataclass(frozen=True, slots=True)
class Routing:
    """`topic_selector` and `partitioner` name functions; a partitioner may also be murmur2, which
    is Kafka's, or round-robin.

    `dead_letter_topic` is for rows that cannot be written.
    """

    topic_selector: str | None = None
    partitioner: str = MURMUR2
    dead_letter_topic: str | None = None


class FunctionFailed(MillstreamError):
    """A function that an option names has raised, or has returned something else than it should."""


def parse_routing(given: Mapping[str, str]) -> Routing:
    """Raises ConfigError for what is malformed, and for functions that cannot be imported."""
    selector = given.get("topicselector")
    if selector is not None:
        function_named("topicSelector", selector)
        if "topic" in given:
            raise ConfigError(
                "topic and topicSelector both say where rows go: give one of them; the selector is given the column topic"
            )
    partitioner = given.get("partitioner", MURMUR2).strip()
    if partitioner.lower() in {MURMUR2, _ROUND_ROBIN}:
        partitioner = partitioner.lower()
    elif not {":", "."} & set(partitioner):
        raise ConfigError(
            f"partitioner is {MURMUR2}, {_ROUND_ROBIN} or a function, module:function, not {partitioner!r}"
        )
    else:
        function_named("partitioner", partitioner)
    dead_letter_topic = given.get("deadlettertopic")
    if dead_letter_topic is not None and not dead_letter_topic.strip():
        raise ConfigError("deadLetterTopic is empty: name a topic, or leave it out")
    return Routing(selector, partitioner, dead_letter_topic)


def with_selected_topics(selector: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the rows with the column topic that the function makes of each, a dictionary of its columns."""
    import pyarrow as pa

    select = function_named("topicSelector", selector)
    topics = []
    for row in batch.to_pylist(maps_as_pydicts="strict"):
        topic = _called("topicSelector", select, row)
        if topic is not None and not isinstance(topic, str):
            raise FunctionFailed(
                f"topicSelector gives the name of a topic or None, not {topic!r}, a {type(topic).__name__}"
            )
        topics.append(topic)
    return _with_column(batch, "topic", pa.array(topics, pa.string()))


class RowPartitioner(Protocol):
    """Numbers of partitions for rows; rows whose column partition has one keep it."""

    def partitions(self, rows: pa.RecordBatch, partition_count: int) -> list[int]: ...


def row_partitioner(name: str) -> RowPartitioner | None:
    """None for Kafka's, which a producer has itself."""
    if name == MURMUR2:
        return None
    return _RoundRobin() if name == _ROUND_ROBIN else _Function(function_named("partitioner", name))


def with_partitions(
    partitioner: RowPartitioner, rows: pa.RecordBatch, partition_count: int
) -> pa.RecordBatch:
    """Returns the rows with a column partition that has no nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pa.array(partitioner.partitions(rows, partition_count), pa.int32())
    if "partition" in rows.schema.names:
        found = pc.coalesce(rows.column("partition"), found)
    return _with_column(rows, "partition", found)


class _RoundRobin:
    """Rows go to one partition after the other.

    Each task begins at another one, so that small ones do not all fill the first.
    """

    def __init__(self) -> None:
        self._next = count(int.from_bytes(SystemRandom().randbytes(2), "big"))

    def partitions(self, rows: pa.RecordBatch, partition_count: int) -> list[int]:
        return [next(self._next) % partition_count for _ in range(rows.num_rows)]


@dataclass(frozen=True)
class _Function:
    """Called with key, value and the count of partitions."""

    function: Callable[..., object]

    def partitions(self, rows: pa.RecordBatch, partition_count: int) -> list[int]:
        keys = (
            rows.column("key").to_pylist() if "key" in rows.schema.names else [None] * rows.num_rows
        )
        return [
            self._one(key, value, partition_count)
            for key, value in zip(keys, rows.column("value").to_pylist(), strict=True)
        ]

    def _one(self, key: object, value: object, partition_count: int) -> int:
        found = _called("partitioner", self.function, key, value, partition_count)
        if not isinstance(found, int) or isinstance(found, bool) or abs(found) >= 2**31:
            raise FunctionFailed(f"partitioner gives the number of a partition, not {found!r}")
        return found


def _called(option: str, function: Callable[..., object], *arguments: object) -> object:
    try:
        return function(*arguments)
    except Exception as error:
        raise FunctionFailed(f"{option} raised for a row: {error!r}") from error


def _with_column(rows: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    import pyarrow as pa

    columns = {each: rows.column(each) for each in rows.schema.names} | {name: column}
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
