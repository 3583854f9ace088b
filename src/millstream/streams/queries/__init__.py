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
    VersionedRecord,
)
from millstream.streams.queries.views import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyWindowStore,
)

__all__ = [
    "FailureReason",
    "KeyQuery",
    "MultiVersionedKeyQuery",
    "Position",
    "Query",
    "QueryFailed",
    "QueryResult",
    "RangeQuery",
    "ReadOnlyKeyValueStore",
    "ReadOnlySessionStore",
    "ReadOnlyWindowStore",
    "StateQueryRequest",
    "StateQueryResult",
    "TimestampedKeyQuery",
    "TimestampedRangeQuery",
    "VersionedKeyQuery",
    "VersionedRecord",
    "WindowKeyQuery",
    "WindowRangeQuery",
    "answer",
]
