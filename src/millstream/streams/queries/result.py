"""Requests and results of queries: one result, or one reason why there is none, for each partition."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from millstream.foreign_names.explanation import ForeignNames, explain_construction
from millstream.streams.arguments import check_fields, check_kind
from millstream.streams.errors import StreamsError
from millstream.streams.queries.query import Query

Position = Mapping[str, Mapping[int, int]]
"""By topic and partition, the offset of the last record that the store has seen."""


class FailureReason(StrEnum):
    UNKNOWN_QUERY_TYPE = "unknown_query_type"
    """The store is of a kind that does not answer this query."""
    NOT_ACTIVE = "not_active"
    """The partition has no active task here, and `require_active` was asked for."""
    NOT_UP_TO_BOUND = "not_up_to_bound"
    """The store has not seen what the position bound wants yet; ask again later."""
    NOT_PRESENT = "not_present"
    """The partition is not kept here."""
    DOES_NOT_EXIST = "does_not_exist"
    """The topology has no such partition."""
    STORE_EXCEPTION = "store_exception"
    """The store raised an error."""


class QueryFailed(StreamsError):
    """The value was asked of a result that has none."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason


@explain_construction
@dataclass(frozen=True, slots=True)
class QueryResult(metaclass=ForeignNames):
    """Of one partition."""

    answer: Any = None  # Any: each query has its own kind of answer
    failure: FailureReason | None = None
    message: str = ""
    position: Position = field(default_factory=dict)
    execution_info: tuple[str, ...] = ()
    is_being_restored: bool = False
    """Of a failure: the active task is here, and will answer once its store is restored."""

    @property
    def is_success(self) -> bool:
        """Whether there is a value; else `failure` says why not."""
        return self.failure is None

    @property
    def value(self) -> Any:  # Any: see above
        """The answer. Raises QueryFailed where there is none."""
        if self.failure is not None:
            raise QueryFailed(self.failure, self.message)
        return self.answer


@explain_construction
@dataclass(frozen=True, slots=True)
class StateQueryRequest(metaclass=ForeignNames):
    """`partitions`: None asks all that are here. `position_bound`: what the store must have seen at least.

    `require_active`: only the stores of running active tasks answer; else standby copies and stores
    that are being restored do, too.
    """

    store: str
    query: Query
    partitions: Collection[int] | None = None
    position_bound: Position = field(default_factory=dict)
    require_active: bool = False
    execution_info: bool = False

    def __post_init__(self) -> None:
        check_fields(
            self,
            store=str,
            partitions=Collection | None,
            position_bound=Mapping,
        )
        for offsets in self.position_bound.values():
            check_kind("StateQueryRequest: position_bound of a topic", offsets, Mapping)


@explain_construction
@dataclass(frozen=True, slots=True)
class StateQueryResult(metaclass=ForeignNames):
    """`global_result` for a global store, which has no partitions."""

    partitions: Mapping[int, QueryResult] = field(default_factory=dict)
    global_result: QueryResult | None = None

    @property
    def position(self) -> Position:
        """The position of all answers together: a bound for queries that must not see less."""
        return furthest(result.position for result in self.partitions.values())

    @property
    def active(self) -> Mapping[int, QueryResult]:
        """The results without those of partitions that have no running active task here, where that was required."""
        return {
            number: each
            for number, each in self.partitions.items()
            if each.failure is not FailureReason.NOT_ACTIVE
        }

    def only_partition_result(self) -> QueryResult | None:
        """Returns the one result that has an answer, as for a key; None when none has.

        Raises ValueError when several have.
        """
        found = [
            result
            for result in self.partitions.values()
            if not result.is_success or result.answer is not None
        ]
        if len(found) > 1:
            raise ValueError(f"{len(found)} partitions answered; look at `partitions`")
        return found[0] if found else None


def furthest(positions: Iterable[Position]) -> Position:
    """Returns the position of what has seen all that any of these has."""
    merged: dict[str, dict[int, int]] = {}
    for position in positions:
        for topic, offsets in position.items():
            known = merged.setdefault(topic, {})
            for partition, offset in offsets.items():
                known[partition] = max(offset, known.get(partition, -1))
    return merged


def last_offsets(next_offsets: Mapping[str, int], partition: int) -> Position:
    """Returns the position of stores that have seen all before these offsets, given by input topic."""
    return {topic: {partition: offset - 1} for topic, offset in next_offsets.items() if offset > 0}


def is_up_to(position: Position, bound: Position) -> bool:
    """A bound that names what the store does not read is never reached."""
    return all(
        position.get(topic, {}).get(partition, -1) >= offset
        for topic, offsets in bound.items()
        for partition, offset in offsets.items()
    )
