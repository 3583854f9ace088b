"""The topics of a TopologyTestDriver: where a test pipes records in, and where it reads what came out.

Owns serdes and the time of records that are piped without one; the records themselves are the driver's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millstream.foreign_names.explanation import explain_missing
from millstream.streams.arguments import check_kind
from millstream.streams.errors import SerializationError
from millstream.streams.kernel import Headers
from millstream.streams.serdes import Serde
from millstream.streams.windows import to_ms

if TYPE_CHECKING:
    from millstream.testing.streams.topology_test_driver import TopologyTestDriver

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TestRecord(Generic[K, V]):
    """A record to be piped, or read from an output topic."""

    __test__ = False

    key: K | None
    value: V | None
    timestamp: int
    headers: Headers = ()


@explain_missing
class TestInputTopic(Generic[K, V]):
    """Pipes records into one topic; after each of them everything that follows from it is processed.

    A record without a time of its own has that of the topic, which then advances.
    """

    __test__ = False

    def __init__(
        self,
        driver: TopologyTestDriver,
        topic: str,
        serdes: tuple[Serde[K], Serde[V]],
        start_ms: int,
        advance: timedelta,
    ) -> None:
        check_kind("input_topic: topic", topic, str)
        check_kind("input_topic: start_ms", start_ms, int)
        self._driver = driver
        self._topic = topic
        self._key, self._value = serdes
        self._time_ms = start_ms
        self._advance_ms = not_negative_ms(advance)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._topic}>"

    def advance_time(self, by: timedelta) -> None:
        """Move the time of the topic."""
        self._time_ms += not_negative_ms(by)

    def pipe(
        self, key: K | None, value: V | None, *, at: int | None = None, headers: Headers = ()
    ) -> None:
        """Pipe one record with timestamp `at` (ms), or with the time of the topic."""
        if at is None:
            at = self._time_ms
            self._time_ms += self._advance_ms
        self._driver.pipe_bytes(
            self._topic,
            self._encoded("key", self._key, key),
            self._encoded("value", self._value, value),
            timestamp=at,
            headers=headers,
        )

    def _encoded(self, what: str, serde: Serde[Any], given: object) -> bytes | None:  # Any: K or V
        """Raises SerializationError, naming topic and serde, for what the serde cannot write."""
        if given is None:
            return None
        try:
            return serde.encode(given)
        except Exception as error:
            raise SerializationError(
                f"input topic {self._topic}: its serde {serde.name} cannot write the {what} {given!r}: {error}"
            ) from error

    def pipe_value(self, value: V | None, *, at: int | None = None) -> None:
        """Pipe a record without a key."""
        self.pipe(None, value, at=at)

    def pipe_values(
        self,
        values: Iterable[V | None],
        *,
        start_ms: int | None = None,
        advance: timedelta = timedelta(0),
    ) -> None:
        """Pipe records without keys: from `start_ms` on, `advance` apart, or by the time of the topic."""
        self.pipe_key_values(
            ((None, value) for value in values), start_ms=start_ms, advance=advance
        )

    def pipe_key_values(
        self,
        pairs: Iterable[tuple[K | None, V | None]],
        *,
        start_ms: int | None = None,
        advance: timedelta = timedelta(0),
    ) -> None:
        """Pipe records: from `start_ms` on, `advance` apart, or by the time of the topic."""
        step_ms = not_negative_ms(advance)
        for number, (key, value) in enumerate(pairs):
            self.pipe(key, value, at=None if start_ms is None else start_ms + number * step_ms)

    def pipe_records(self, records: Iterable[TestRecord[K, V]]) -> None:
        """Pipe records with their own times and headers."""
        for record in records:
            self.pipe(record.key, record.value, at=record.timestamp, headers=record.headers)


@explain_missing
class TestOutputTopic(Generic[K, V]):
    """Reads what was written to one topic. What was read once is not read again."""

    __test__ = False

    def __init__(
        self, driver: TopologyTestDriver, topic: str, serdes: tuple[Serde[K], Serde[V]]
    ) -> None:
        check_kind("output_topic: topic", topic, str)
        self._driver = driver
        self._topic = topic
        self._key, self._value = serdes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._topic}>"

    def read(self) -> list[TestRecord[K, V]]:
        """Returns every record written since the last read."""
        return [self._decoded(each) for each in self._driver.read_bytes(self._topic)]

    def read_record(self) -> TestRecord[K, V]:
        """Returns the first record that was not read. Raises LookupError where there is none."""
        return self._decoded(self._driver.read_bytes_once(self._topic))

    def read_value(self) -> V | None:
        """Returns the value of the first record that was not read. Raises LookupError where there is none."""
        return self.read_record().value

    def read_key_value(self) -> tuple[K | None, V | None]:
        """Key and value of the first record that was not read. Raises LookupError where there is none."""
        record = self.read_record()
        return record.key, record.value

    def read_values(self) -> list[V | None]:
        """Returns the values of every record written since the last read."""
        return [record.value for record in self.read()]

    def read_key_values(self) -> list[tuple[K | None, V | None]]:
        """Returns the keys and values of every record written since the last read."""
        return [(record.key, record.value) for record in self.read()]

    def read_map(self) -> dict[K, V | None]:
        """Returns, by key, the last value written since the last read. Raises ValueError for a record without a key."""
        table: dict[K, V | None] = {}
        for record in self.read():
            if record.key is None:
                raise ValueError(f"topic {self._topic} has a record without a key: read a list")
            table[record.key] = record.value
        return table

    @property
    def queue_size(self) -> int:
        """The number of records that were not read yet."""
        return self._driver.unread(self._topic)

    @property
    def is_empty(self) -> bool:
        """Whether everything was read."""
        return not self.queue_size

    def _decoded(self, record: TestRecord[bytes, bytes]) -> TestRecord[K, V]:
        return TestRecord(
            self._read("key", self._key, record.key),
            self._read("value", self._value, record.value),
            record.timestamp,
            record.headers,
        )

    def _read(self, what: str, serde: Serde[T], raw: bytes | None) -> T | None:
        """Raises SerializationError, naming topic and serde, for bytes that the serde cannot read."""
        if raw is None:
            return None
        try:
            return serde.decode(raw)
        except Exception as error:
            raise SerializationError(
                f"output topic {self._topic}: its serde {serde.name} cannot read the {what} {bytes(raw)!r}: {error}"
            ) from error


def not_negative_ms(duration: timedelta) -> int:
    """Returns the milliseconds that time moves. Raises ValueError for a negative duration."""
    milliseconds = to_ms(duration)
    if milliseconds < 0:
        raise ValueError(f"time does not go back: advance by {duration} is negative")
    return milliseconds
