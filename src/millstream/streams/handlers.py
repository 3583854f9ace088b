"""Handlers of an application for records that cannot be read, processed or written (KIP-161, 210, 399, 1033, 1034).

A handler is a function. It is told where the failure happened, the record and the error, and answers `OnError`, or a
`Response` with records for a dead letter topic. `OnError.FAIL` and `OnError.CONTINUE` in place of a handler are the
built-in ones; these write one dead letter if the application names a topic for them.

Owns the words of handlers and the bytes of a dead letter. Asking them, and doing what they say, is the kernel's.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from millstream.streams.processor import Headers, Record


class OnError(StrEnum):
    """The decision about a record that cannot be read, processed or written."""

    FAIL = "fail"
    """Stop the task."""
    CONTINUE = "continue"
    """Leave the record out and go on."""
    RETRY = "retry"
    """Write it again; for errors of the broker that may pass. Anywhere else it means FAIL."""


class SerializationOrigin(StrEnum):
    """The half of a record that its serde could not write."""

    KEY = "key"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class ErrorContext:
    """The place of a failure: the node, and the record that it was about.

    Topic, partition and offset are those of the record that the task had read; in a punctuation None, -1 and -1.
    `timestamp` (ms) and `headers` are those of the record that was given to `node`. `raw_key` and `raw_value` are the
    bytes as they were read; None in punctuations and on the way out of a record cache.
    """

    topic: str | None
    partition: int
    offset: int
    headers: Headers
    node: str
    task_id: str
    timestamp: int
    raw_key: bytes | None = None
    raw_value: bytes | None = None


@dataclass(frozen=True, slots=True)
class OutgoingRecord:
    """A record on its way to a topic: bytes, but what a serde could not write, which is as the sink was given it."""

    topic: str
    key: object
    value: object
    timestamp: int
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Response:
    """A handler's answer. Dead letters are written whatever the action is; their keys and values are bytes or None.

    When the task fails they belong to what it had written, and share its fate: with a rollback they are gone.
    """

    action: OnError
    dead_letters: tuple[OutgoingRecord, ...] = ()


Answer = OnError | Response

RawRecord = Record[bytes | None, bytes | None]
AnyRecord = Record[Any, Any]  # Any: user types

DeserializationHandler = Callable[[ErrorContext, RawRecord, Exception], Answer]
"""(where, the record with key and value as bytes, what the serde raised)."""

ProcessingHandler = Callable[[ErrorContext, AnyRecord | None, Exception], Answer]
"""(where, the record that the node was given, what was raised); no record where a punctuation failed.

The value of a table's record is the new value.
"""

ProductionHandler = Callable[
    [ErrorContext, OutgoingRecord, Exception, SerializationOrigin | None], Answer
]
"""(where, the record, the error, which half of it could not be written); None where the broker refused the record."""


def dead_letter(topic: str, context: ErrorContext, error: BaseException) -> OutgoingRecord:
    """Returns the record as it was read, with headers behind its own that say what happened: Kafka's names and order.

    The exception goes by its Python name.
    """
    kind = type(error)
    told = {
        "exception": f"{kind.__module__}.{kind.__qualname__}",
        "message": str(error),
        "stacktrace": "".join(traceback.format_exception(error)),
        "topic": context.topic,
        "partition": str(context.partition),
        "offset": str(context.offset),
    }
    added = tuple(
        (f"__streams.errors.{name}", None if text is None else text.encode())
        for name, text in told.items()
    )
    return OutgoingRecord(
        topic, context.raw_key, context.raw_value, context.timestamp, context.headers + added
    )


class OnUncaughtError(StrEnum):
    """The answers to a failed stream thread (StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse)."""

    REPLACE_THREAD = "REPLACE_THREAD"
    SHUTDOWN_CLIENT = "SHUTDOWN_CLIENT"
    SHUTDOWN_APPLICATION = "SHUTDOWN_APPLICATION"


UncaughtErrorHandler = Callable[[Exception], OnUncaughtError]


def shut_down_client(_error: Exception) -> OnUncaughtError:
    """Ends this instance, as ERROR. The handler of an application that has none of its own."""
    return OnUncaughtError.SHUTDOWN_CLIENT
