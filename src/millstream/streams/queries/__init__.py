"""Interactive queries: what an application may ask its stores while it runs (KIP-67, KIP-796)."""

from millstream.streams.queries.answers import answer
from millstream.streams.queries.query import (
    KeyQuery,
    MultiVersionedKeyQuery,
    Query,
    RangeQuery,
    TimestampedKeyQuery,
    TimestampedRangeQuery,
    VersionedKeyQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)
from millstream.streams.queries.result import (
    FailureReason,
    Position,
    QueryFailed,
    QueryResult,
    StateQueryRequest,
    StateQueryResult,
)
from millstream.streams.queries.views import (
    KeyValueView,
    SessionView,
    VersionedView,
    WindowView,
)
from millstream.streams.state.read_only import VersionedRecord

__all__ = [
    "FailureReason",
    "KeyQuery",
    "KeyValueView",
    "MultiVersionedKeyQuery",
    "Position",
    "Query",
    "QueryFailed",
    "QueryResult",
    "RangeQuery",
    "SessionView",
    "StateQueryRequest",
    "StateQueryResult",
    "TimestampedKeyQuery",
    "TimestampedRangeQuery",
    "VersionedKeyQuery",
    "VersionedRecord",
    "VersionedView",
    "WindowKeyQuery",
    "WindowRangeQuery",
    "WindowView",
    "answer",
]
