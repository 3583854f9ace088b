"""Ready-made aggregations: sum, smallest, largest, mean.

They are not in Kafka Streams; rows and names are those of `aggregate`.

    grouped.aggregate(sum_of(lambda order: order["cents"]))                      # KTable[K, int]
    grouped.windowed_by(windows).aggregate(mean_of(lambda order: order["cents"]))  # KTable[Windowed[K], Mean]

Each can be given wherever `aggregate` takes an initializer, in its place and that of the functions after it, and
wherever `cogroup` takes an aggregator. What is aggregated is the record's value, or what `select` takes from it; a null
value, or a None from `select`, changes nothing. Pure functions; owns no state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import add, sub
from struct import Struct
from typing import Any, Final, Generic, NamedTuple, TypeVar, overload

from millstream.streams.serdes.serde import Serde, long
from millstream.streams.topology.functions import check_arity

V = TypeVar("V")
V_contra = TypeVar("V_contra", contravariant=True)
VA = TypeVar("VA")
N = TypeVar("N")

_MEAN: Final = Struct(">dq")


@dataclass(frozen=True, slots=True)
class Aggregate(Generic[V_contra, VA]):
    """Calling one is calling its aggregator: (key, value, aggregate) → new aggregate."""

    name: str
    initializer: Callable[[], VA]
    combine: Callable[[VA, Any], VA]  # Any: what `select` gives
    """(aggregate, selected) → new aggregate."""
    merge: Callable[[VA, VA], VA]
    """Of two sessions."""
    take_off: Callable[[VA, Any], VA] | None = None  # Any: what `select` gives
    """(aggregate, selected) → the aggregate without it; None where it cannot be known."""
    select: Callable[[V_contra], Any] | None = None  # Any: whatever can be combined
    value: Serde[VA] | None = None
    """Of the aggregate, where the user gives none."""

    def __post_init__(self) -> None:
        """TypeError for a selector that cannot be called with the value of one record."""
        if self.select is not None:
            check_arity(self.name, "select", self.select, "value")

    def __call__(self, _key: object, value: V_contra, aggregate: VA, /) -> VA:
        selected = self.selected(value)
        return aggregate if selected is None else self.combine(aggregate, selected)

    def selected(self, value: V_contra | None) -> Any:  # Any: whatever can be combined
        """Returns the part of a value that is aggregated, None for nothing."""
        return value if value is None or self.select is None else self.select(value)

    def serde(self, of_values: Serde[Any] | None) -> Serde[Any] | None:  # Any: rows of any type
        """Returns the serde of rows, given that of the records' values; None where it is not known."""
        return self.value or (of_values if self.select is None else None)

    def merger(self, _key: object, one: VA, other: VA, /) -> VA:
        """Returns the function that merges sessions."""
        return self.merge(one, other)

    @property
    def subtractor(self) -> Callable[[object, V_contra, VA], VA]:
        """The function for grouped tables. Raises TypeError where a value cannot be taken off again."""
        take_off = self.take_off
        if take_off is None:
            raise TypeError(
                f"aggregate: {self.name} cannot take a row's old value off again, which a grouped table needs; "
                "give an initializer, an adder and a subtractor of your own, or aggregate a stream"
            )

        def subtract(_key: object, value: V_contra, aggregate: VA) -> VA:
            selected = self.selected(value)
            return aggregate if selected is None else take_off(aggregate, selected)

        return subtract


class Mean(NamedTuple):
    """A row of `mean_of`: enough to go on from, and to merge."""

    sum: float
    records: int

    @property
    def mean(self) -> float:
        """NaN where there are no records."""
        return self.sum / self.records if self.records else math.nan


@overload
def sum_of() -> Aggregate[int, int]: ...
@overload
def sum_of(select: Callable[[V], int]) -> Aggregate[V, int]: ...
@overload
def sum_of(select: Callable[[V], N] | None = None, *, value: Serde[N]) -> Aggregate[V, N]: ...
def sum_of(
    select: Callable[[Any], Any] | None = None,  # Any: as the overloads say
    *,
    value: Serde[Any] | None = None,  # Any: the same
) -> Aggregate[Any, Any]:  # Any: the same
    """Returns the sum, from 0: of whole numbers, or of what `value` is the serde of, `double()` for instance."""
    return Aggregate("sum_of", _zero, add, add, sub, select, value or long())


def min_of(
    select: Callable[[V], N] | None = None, *, value: Serde[N] | None = None
) -> Aggregate[V, N]:
    """Returns the smallest, of anything that can be compared; of equal ones the first.

    `value`: the serde of what is selected.
    """
    return Aggregate("min_of", _nothing, _smaller, _smaller, None, select, value)


def max_of(
    select: Callable[[V], N] | None = None, *, value: Serde[N] | None = None
) -> Aggregate[V, N]:
    """Returns the largest, of anything that can be compared; of equal ones the first.

    `value`: the serde of what is selected.
    """
    return Aggregate("max_of", _nothing, _larger, _larger, None, select, value)


def mean_of(select: Callable[[V], float] | None = None) -> Aggregate[V, Mean]:
    """Sum and number of what is selected, and `.mean` of it."""
    return Aggregate(
        "mean_of", _no_mean, _add_to_mean, _merge_means, _take_off_mean, select, mean_serde()
    )


def mean_serde() -> Serde[Mean]:
    """Returns a double, the sum, and a long, how many: big endian, 16 bytes."""
    return Serde("mean", _write_mean, _read_mean, immutable=True)


def _zero() -> int:
    return 0


def _nothing() -> Any:  # Any: there is no smallest of nothing
    return None


def _smaller(aggregate: Any, value: Any) -> Any:  # Any: whatever can be compared
    return value if aggregate is None or (value is not None and value < aggregate) else aggregate


def _larger(aggregate: Any, value: Any) -> Any:  # Any: whatever can be compared
    return value if aggregate is None or (value is not None and value > aggregate) else aggregate


def _no_mean() -> Mean:
    return Mean(0.0, 0)


_made_mean: Callable[[tuple[float, int]], Mean] = partial(tuple.__new__, Mean)
"""Half the time of Mean(...), which is called for every record."""


def _add_to_mean(aggregate: Mean, value: float) -> Mean:
    return _made_mean((aggregate[0] + value, aggregate[1] + 1))


def _take_off_mean(aggregate: Mean, value: float) -> Mean:
    return Mean(aggregate[0] - value, aggregate[1] - 1)


def _merge_means(one: Mean, other: Mean) -> Mean:
    return Mean(one[0] + other[0], one[1] + other[1])


def _write_mean(mean: Mean) -> bytes:
    return _MEAN.pack(*mean)


def _read_mean(data: bytes) -> Mean:
    return Mean(*_MEAN.unpack(data))
