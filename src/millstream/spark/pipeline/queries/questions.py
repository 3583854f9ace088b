"""Questions to the stores of a task host, and its answers. Pure: a host answers with them, the driver asks with them.

Keys and rows travel as objects, pickled with cloudpickle: classes that an application has defined
itself come back as they were.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from millstream.streams import queries
from millstream.streams.errors import InvalidStoreError
from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.queries import (
    QUERYABLE_STORE_TYPES,
    FailureReason,
    Position,
    QueryResult,
    StateQueryRequest,
    view_of,
)

ROWS_MAX: Final = 100_000
"""An answer is made in the thread of the kernel, for which all tasks of the host wait: pickled in 21 ms where small."""
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
"""An answer lies in memory in host, worker and driver."""


@dataclass(frozen=True, slots=True)
class StoreCall:
    """A call of one method of a store that is seen as a type of QUERYABLE_STORE_TYPES."""

    store: str
    seen_as: str
    method: str
    arguments: tuple[object, ...] = ()
    named: Mapping[str, object] = field(default_factory=dict)


Question = StoreCall | StateQueryRequest


@dataclass(frozen=True, slots=True)
class Answered:
    """The pickled answer."""

    pickled: bytes


@dataclass(frozen=True, slots=True)
class NotHere:
    """The task is not open in this host."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The store cannot answer. `is_of_store`: it has raised an error; else it is not there, or is of another type."""

    text: str
    is_of_store: bool = False


Answer = Answered | NotHere | Refused


def answered(pickled_question: bytes, task: StreamTask, covered: Position | None = None) -> Answer:
    """Answers from a store of the task, which may be one that fills global stores.

    `covered`: the last offset of each input that the stores have seen, which a task knows of its own records alone.
    """
    try:
        question = pickle.loads(pickled_question)  # noqa: S301  # the driver has made it
        found = _found(question, task, task.inputs.position if covered is None else covered)
        data = pickled(found)
    except InvalidStoreError as error:
        return Refused(str(error))
    except Exception as error:  # noqa: BLE001  # whatever the serdes of a store raise
        return Refused(f"{type(error).__name__}: {error}", is_of_store=True)
    if len(data) > ANSWER_BYTES_MAX:
        return Refused(
            f"the answer has {len(data):,} bytes, more than {ANSWER_BYTES_MAX:,}: ask for a smaller range of keys or times"
        )
    return Answered(data)


def value_of(reply: Answered | Refused) -> object:
    """Returns what was answered. Raises InvalidStoreError, and QueryFailed for an error that a store has raised."""
    if isinstance(reply, Answered):
        return pickle.loads(reply.pickled)  # noqa: S301  # our own host has made it
    if reply.is_of_store:
        raise queries.QueryFailed(FailureReason.STORE_EXCEPTION, reply.text)
    raise InvalidStoreError(reply.text)


def pickled(message: object) -> bytes:
    from pyspark import cloudpickle

    return bytes(cloudpickle.dumps(message))  # type: ignore[no-untyped-call]  # it has no types


def _found(question: Question, task: StreamTask, covered: Position) -> object:
    if isinstance(question, StateQueryRequest):
        return _result(question, task, covered)
    store = task.stores.get(question.store)
    if store is None:
        raise InvalidStoreError(
            f"there is no store {question.store}; there are {sorted(task.stores)}"
        )
    view = view_of(store, QUERYABLE_STORE_TYPES[question.seen_as])
    found = getattr(view, question.method)(*question.arguments, **question.named)
    return _bounded(found) if isinstance(found, Iterator) else found


def _result(request: StateQueryRequest, task: StreamTask, covered: Position) -> QueryResult:
    result = task.query(request, covered)
    if isinstance(result.answer, list):
        _bounded(iter(result.answer))
    return result


def _bounded(rows: Iterator[object]) -> list[object]:
    found = list(islice(rows, ROWS_MAX + 1))
    if len(found) > ROWS_MAX:
        raise InvalidStoreError(
            f"more than {ROWS_MAX:,} rows of one partition would answer: ask for a smaller range of keys or times"
        )
    return found
