"""Records that could not be read, processed or written: asks the application's handlers, and does what they say.

Every method returns where the record is to be left out, and raises where the task must stop. What it raises
`is_final`: no handler further up is asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import error as StructError  # noqa: N812 - a class, though struct writes it small
from typing import NoReturn, TypeVar

from millstream.streams.config import StreamsConfig
from millstream.streams.dropped_records import DropReason
from millstream.streams.errors import ProcessingError, SerializationError, StreamsError
from millstream.streams.handlers import (
    Answer,
    ErrorContext,
    OnError,
    OutgoingRecord,
    Response,
    SerializationOrigin,
    dead_letter,
)
from millstream.streams.kernel.columns.batch import Batch, Headers, RawBatch, SinkBatch
from millstream.streams.kernel.context import TaskFacts, error_context
from millstream.streams.kernel.counts import DroppedTally, DropPlace
from millstream.streams.kernel.current_run import CurrentRun
from millstream.streams.processor import Record
from millstream.streams.timestamps import ConsumedRecord

StreamsErrorT = TypeVar("StreamsErrorT", bound=StreamsError)
WRONG_TYPE = (TypeError, StructError)
"""A serde was given a value of another type: a mistake of the program, about which no production handler is asked."""


class Failures:
    """`write` takes a dead letter, with the ordinal of its row, or None where it belongs to no run."""

    def __init__(
        self,
        facts: TaskFacts,
        current: CurrentRun,
        dropped: DroppedTally,
        write: Callable[[SinkBatch, int | None], None],
    ) -> None:
        self._facts = facts
        self._config: StreamsConfig = facts.config
        self._current = current
        self._dropped = dropped
        self._write = write

    @property
    def sink_letters(self) -> frozenset[str | None]:
        """The topics of the dead letters of sinks whose task goes on; None: any topic, as a handler
        of the application's says.
        """
        handler, topic = self._config.on_production_error, self._config.dead_letter_topic
        if not isinstance(handler, OnError):
            return frozenset({None})
        goes_on = handler is OnError.CONTINUE and topic is not None
        return frozenset({topic}) if goes_on else frozenset()

    def handle_deserialization_failure(
        self, node: str, topic: str, raw: RawBatch, row: int, error: Exception, *, serdes: str
    ) -> None:
        """A record whose bytes its serdes, named so, cannot read."""
        partition, task_id = self._current.partition, self._facts.task_id
        key, value, timestamp = raw.keys[row], raw.values[row], raw.timestamps[row]
        headers = () if raw.headers is None else raw.headers[row]
        offset = raw.offsets[row]
        place = ErrorContext(
            topic, partition, offset, headers, node, task_id, timestamp, key, value
        )
        handler = self._config.on_deserialization_error
        if isinstance(handler, OnError):
            response = self._built_in(handler, place, error)
        else:
            record = Record(key, value, timestamp, headers)
            response = _asked("deserialization", lambda: handler(place, record, error))
        self._write_letters(response, None)
        if response.action is not OnError.CONTINUE:
            raise _final(
                SerializationError(
                    f"{topic}-{partition} offset {offset} cannot be read with serdes {serdes}: {error}; "
                    "set on_deserialization_error to skip such records"
                )
            ) from error
        times = timestamp, self._current.stream_time
        dropped_at = DropPlace(topic, partition, offset)
        self._dropped.add_at(node, DropReason.UNREADABLE, dropped_at, times, error=repr(error))

    def handle_negative_timestamp(self, node: str, record: ConsumedRecord) -> None:
        """A record that its timestamp extractor wants to be left out."""
        place = DropPlace(record.topic, record.partition, record.offset)
        times = record.timestamp, self._current.stream_time
        self._dropped.add_at(node, DropReason.NEGATIVE_TIMESTAMP, place, times)

    def handle_processing_failure(self, node: str, rows: Batch, error: Exception) -> None:
        """A processor raised, or a sink below it did."""
        if isinstance(error, StreamsError) and error.is_final:
            raise error
        if self._facts.is_global and not self._config.handle_global_errors:
            self._stop(node, rows, error)
        ordinal, timestamp, headers = rows.ordinals[0], rows.timestamps[0], rows.headers[0]
        place = self._place(node, ordinal, timestamp, headers)
        record = Record(rows.keys[0], rows.values[0], timestamp, headers)
        response = self._ask_processing(place, record, _raised_by_user(error))
        if len(rows) == 1:  # of several it is not known which it was; built-in FAIL alone gets here
            self._write_letters(response, ordinal)
        if response.action is not OnError.CONTINUE:
            self._stop(node, rows, error)
        row_at, raised = (ordinal, timestamp), repr(_raised_by_user(error))
        self._dropped.add(node, DropReason.FAILED, row_at, records=len(rows), error=raised)

    def handle_given_up(
        self, node: str, row: Batch, error: Exception, letter: OutgoingRecord | None
    ) -> None:
        """A row for which its operator has given up trying: it goes where the dead letters of that
        operator go, if it has some.
        """
        if letter is None:
            self.handle_processing_failure(node, row, error)
            return
        self._write_letters(Response(OnError.CONTINUE, (letter,)), row.ordinals[0])
        row_at = row.ordinals[0], row.timestamps[0]
        self._dropped.add(node, DropReason.GIVEN_UP, row_at, error=repr(error))

    def at_source(self, node: str, rows: Batch, error: Exception) -> NoReturn:
        """A sink right below a source raised. No processor did, so no handler is asked, as in Kafka Streams."""
        if isinstance(error, StreamsError) and error.is_final:
            raise error
        self._stop(node, rows, error)

    def handle_punctuation_failure(self, node: str, time_ms: int, error: Exception) -> None:
        """A punctuation raised."""
        if isinstance(error, StreamsError) and error.is_final:
            raise error
        place = self._place(node, 0, time_ms, ())
        response = self._ask_processing(place, None, _raised_by_user(error))
        self._write_letters(response, 0)
        if response.action is not OnError.CONTINUE:
            raise _final(
                ProcessingError(f"punctuation of {node} at {time_ms} failed: {error!r}")
            ) from error
        raised = repr(_raised_by_user(error))
        self._dropped.add(node, DropReason.FAILED_PUNCTUATION, (0, time_ms), error=raised)

    def handle_serialization_failure(
        self, node: str, topic: str, row: Batch, origin: SerializationOrigin, error: Exception
    ) -> None:
        """The one row of a sink that a serde cannot write. What is raised goes to the handler of the node above."""
        given = row.keys[0] if origin is SerializationOrigin.KEY else row.values[0]
        refused = SerializationError(
            f"sink {node} cannot write the {origin} to {topic}, which is of type {type(given).__name__}: {error!r}; "
            "give the sink the right serdes"
        )
        if isinstance(error, WRONG_TYPE):
            raise refused from error
        timestamp, headers, ordinal = row.timestamps[0], row.headers[0], row.ordinals[0]
        place = self._place(node, ordinal, timestamp, headers)
        record = OutgoingRecord(topic, row.keys[0], row.values[0], timestamp, headers)
        response = self._ask_production(place, record, error, origin)
        self._write_letters(response, ordinal)
        if response.action is not OnError.CONTINUE:
            raise refused from error
        row_at = ordinal, timestamp
        self._dropped.add(node, DropReason.UNWRITABLE, row_at, error=repr(error))

    def handle_production_failure(self, record: OutgoingRecord, error: Exception) -> OnError:
        """A record of this task that the broker refused: CONTINUE without it, or RETRY.

        Dead letters of the application's handler are part of the next output. Raises StreamsError where the task
        must stop. `error` has an attribute `retriable`, as `KafkaError` does, or counts as one that will not pass.
        """
        place = ErrorContext(
            None,
            -1,
            -1,
            record.headers,
            "",
            self._facts.task_id,
            record.timestamp,
            record.key if isinstance(record.key, bytes) else None,
            record.value if isinstance(record.value, bytes) else None,
        )
        response = self._ask_production(place, record, error, None)
        self._write_letters(response, None)
        if response.action is OnError.RETRY and getattr(error, "retriable", False):
            return OnError.RETRY
        if response.action is not OnError.CONTINUE:
            raise _final(StreamsError(f"topic {record.topic} refused a record: {error}")) from error
        times = record.timestamp, self._current.stream_time
        nowhere, sink = DropPlace(None, -1, -1), f"sink of {record.topic}"
        self._dropped.add_at(sink, DropReason.REFUSED, nowhere, times, error=str(error))
        return OnError.CONTINUE

    def _place(self, node: str, ordinal: int, timestamp: int, headers: Headers) -> ErrorContext:
        record = self._current.record_context(ordinal, timestamp, headers)
        return error_context(node, self._facts.task_id, record)

    def _ask_processing(
        self, place: ErrorContext, record: Record[object, object] | None, error: Exception
    ) -> Response:
        handler = self._config.on_processing_error
        if isinstance(handler, OnError):
            return self._built_in(handler, place, error)
        return _asked("processing", lambda: handler(place, record, error))

    def _ask_production(
        self,
        place: ErrorContext,
        record: OutgoingRecord,
        error: Exception,
        origin: SerializationOrigin | None,
    ) -> Response:
        handler = self._config.on_production_error
        if not isinstance(handler, OnError):
            return _asked("production", lambda: handler(place, record, error, origin))
        if handler is OnError.FAIL and origin is None and getattr(error, "retriable", False):
            return Response(OnError.RETRY)  # Kafka's default handler has patience with brokers
        return self._built_in(handler, place, error)

    def _built_in(self, action: OnError, place: ErrorContext, error: Exception) -> Response:
        topic = self._config.dead_letter_topic
        return Response(action, () if topic is None else (dead_letter(topic, place, error),))

    def _write_letters(self, response: Response, ordinal: int | None) -> None:
        if self._facts.is_global:
            return  # as in Kafka Streams: who fills global stores writes nothing
        for letter in response.dead_letters:
            key, value = letter.key, letter.value
            if not (isinstance(key, bytes | None) and isinstance(value, bytes | None)):
                raise _final(
                    StreamsError(
                        f"a dead letter for {letter.topic} has key {type(key).__name__} and value "
                        f"{type(value).__name__}: give bytes or None"
                    )
                )
            self._write(
                SinkBatch(letter.topic, [key], [value], [letter.timestamp], [letter.headers]),
                ordinal,
            )

    def _stop(self, node: str, rows: Batch, error: Exception) -> NoReturn:
        if isinstance(error, ProcessingError | SerializationError):
            raise _final(error)  # it names its place already
        place = self._current.place_of(rows)
        raise _final(ProcessingError(f"node {node} failed on {place}: {error!r}")) from error


def _asked(kind: str, ask: Callable[[], Answer]) -> Response:
    """The answer of a handler of the application's own."""
    try:
        answer = ask()
    except Exception as error:
        raise _final(StreamsError(f"the {kind} handler itself failed: {error!r}")) from error
    if isinstance(answer, OnError):
        return Response(answer)
    if not isinstance(answer, Response):
        raise _final(
            StreamsError(
                f"the {kind} handler answered {answer!r}: return OnError.CONTINUE, OnError.FAIL or a Response"
            )
        )
    return answer


def _final(error: StreamsErrorT) -> StreamsErrorT:
    error.is_final = True
    return error


def _raised_by_user(error: Exception) -> Exception:
    """What a function of the user raised, where a sink has put its own words around it."""
    cause = error.__cause__
    return cause if isinstance(error, ProcessingError) and isinstance(cause, Exception) else error
