"""The questions, as data. Times are milliseconds; bounds are inclusive; None as a bound means no bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.foreign_names.explanation import ForeignNames, explain_construction


@explain_construction
@dataclass(frozen=True, slots=True)
class KeyQuery(metaclass=ForeignNames):
    """The value of a key, or None. For key-value stores.

    `skip_cache`: the value as it was when the record cache was last flushed.
    """

    key: Any  # Any: keys of any type
    skip_cache: bool = False


@explain_construction
@dataclass(frozen=True, slots=True)
class RangeQuery(metaclass=ForeignNames):
    """(key, value) pairs of the keys from `lower` to `upper`, in the order of their bytes. For key-value stores."""

    lower: Any = None  # Any: keys of any type
    upper: Any = None  # Any: keys of any type
    descending: bool = False


@explain_construction
@dataclass(frozen=True, slots=True)
class TimestampedKeyQuery(metaclass=ForeignNames):
    """(value, timestamp) of a key, or None. For the stores of tables. `skip_cache` as for KeyQuery."""

    key: Any  # Any: keys of any type
    skip_cache: bool = False


@explain_construction
@dataclass(frozen=True, slots=True)
class TimestampedRangeQuery(metaclass=ForeignNames):
    """(key, (value, timestamp)) pairs. For the stores of tables."""

    lower: Any = None  # Any: keys of any type
    upper: Any = None  # Any: keys of any type
    descending: bool = False


@explain_construction
@dataclass(frozen=True, slots=True)
class WindowKeyQuery(metaclass=ForeignNames):
    """(start, value) of one key's windows that start in a time range, by time. For window stores.

    Values of a table's store are (value, timestamp).
    """

    key: Any  # Any: keys of any type
    time_from: int
    time_to: int


@explain_construction
@dataclass(frozen=True, slots=True)
class WindowRangeQuery(metaclass=ForeignNames):
    """(windowed key, value) pairs: of one key's sessions, or of all windows that start in a time range.

    Give either `key` (session stores) or both times (window stores).
    """

    key: Any = None  # Any: keys of any type
    time_from: int | None = None
    time_to: int | None = None

    def __post_init__(self) -> None:
        by_key = self.key is not None
        times = (self.time_from is not None, self.time_to is not None)
        if by_key == any(times) or times[0] != times[1]:
            raise ValueError("WindowRangeQuery takes a key, or time_from and time_to")


@explain_construction
@dataclass(frozen=True, slots=True)
class VersionedKeyQuery(metaclass=ForeignNames):
    """The version of a key that was valid at a time, or the newest one. For versioned stores."""

    key: Any  # Any: keys of any type
    as_of: int | None = None


@explain_construction
@dataclass(frozen=True, slots=True)
class MultiVersionedKeyQuery(metaclass=ForeignNames):
    """All versions of a key that were valid at some moment of a time range, the newest first. For versioned stores."""

    key: Any  # Any: keys of any type
    time_from: int | None = None
    time_to: int | None = None
    ascending: bool = False

    def __post_init__(self) -> None:
        first, last = self.time_from, self.time_to
        if first is not None and last is not None and first > last:
            raise ValueError(
                f"MultiVersionedKeyQuery asks from {first} to {last}: time_from must not be after time_to"
            )


@dataclass(frozen=True, slots=True)
class ViewCall:
    """A call of one method of a store that is seen as a type of QUERYABLE_STORE_TYPES: what `store()` of a
    running application is made of.

    Rows that the method yields are a list in the answer.
    """

    seen_as: str
    method: str
    arguments: tuple[Any, ...] = ()  # Any: keys of any type, and times
    named: Mapping[str, Any] = field(default_factory=dict)  # Any: as above


Query = (
    KeyQuery
    | RangeQuery
    | TimestampedKeyQuery
    | TimestampedRangeQuery
    | WindowKeyQuery
    | WindowRangeQuery
    | VersionedKeyQuery
    | MultiVersionedKeyQuery
    | ViewCall
)
