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
from millstream.streams.queries.store_types import (
    QueryableStoreType,
    StoreQueryParameters,
    key_value_store,
    session_store,
    session_store_with_headers,
    timestamped_key_value_store,
    timestamped_key_value_store_with_headers,
    timestamped_window_store,
    timestamped_window_store_with_headers,
    versioned_key_value_store,
    view_of,
    window_store,
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
    "QueryableStoreType",
    "RangeQuery",
    "SessionView",
    "StateQueryRequest",
    "StateQueryResult",
    "StoreQueryParameters",
    "TimestampedKeyQuery",
    "TimestampedRangeQuery",
    "VersionedKeyQuery",
    "VersionedRecord",
    "VersionedView",
    "WindowKeyQuery",
    "WindowRangeQuery",
    "WindowView",
    "answer",
    "key_value_store",
    "session_store",
    "session_store_with_headers",
    "timestamped_key_value_store",
    "timestamped_key_value_store_with_headers",
    "timestamped_window_store",
    "timestamped_window_store_with_headers",
    "versioned_key_value_store",
    "view_of",
    "window_store",
]
