"""State stores: transactional rows, the kinds of stores on top of them, and where the rows live."""

from __future__ import annotations

from millstream.streams.state.headers import AggregationWithHeaders, ValueTimestampHeaders
from millstream.streams.state.key_value.store import (
    KeyValueStore,
    TimestampedKeyValueStore,
    TimestampedKeyValueStoreWithHeaders,
)
from millstream.streams.state.key_value.versioned import VersionedKeyValueStore
from millstream.streams.state.read_only import VersionedRecord
from millstream.streams.state.session.store import SessionStore, SessionStoreWithHeaders
from millstream.streams.state.storage.byte_store import ByteStore, MemoryByteStore, StoreFactory
from millstream.streams.state.storage.factory import in_memory_stores, rocksdb_stores
from millstream.streams.state.storage.transaction import StoreMetadata, TransactionalRows
from millstream.streams.state.window.plain import PlainWindowStore
from millstream.streams.state.window.timestamped import (
    TimestampedWindowStore,
    TimestampedWindowStoreWithHeaders,
)

__all__ = [
    "AggregationWithHeaders",
    "ByteStore",
    "KeyValueStore",
    "MemoryByteStore",
    "PlainWindowStore",
    "SessionStore",
    "SessionStoreWithHeaders",
    "StoreFactory",
    "StoreMetadata",
    "TimestampedKeyValueStore",
    "TimestampedKeyValueStoreWithHeaders",
    "TimestampedWindowStore",
    "TimestampedWindowStoreWithHeaders",
    "TransactionalRows",
    "ValueTimestampHeaders",
    "VersionedKeyValueStore",
    "VersionedRecord",
    "in_memory_stores",
    "rocksdb_stores",
]
