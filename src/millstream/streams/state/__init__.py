"""State stores: transactional rows, the kinds of stores on top of them, and where the rows live."""

from __future__ import annotations

from millstream.streams.state.byte_store import ByteStore, MemoryByteStore
from millstream.streams.state.factory import StoreFactory, in_memory_stores, rocksdb_stores
from millstream.streams.state.header_rows import AggregationWithHeaders, ValueTimestampHeaders
from millstream.streams.state.key_value import KeyValueStore, TimestampedKeyValueStore
from millstream.streams.state.key_value_headers import TimestampedKeyValueStoreWithHeaders
from millstream.streams.state.plain_window import PlainWindowStore
from millstream.streams.state.read_only import VersionedRecord
from millstream.streams.state.session import SessionStore
from millstream.streams.state.session_headers import SessionStoreWithHeaders
from millstream.streams.state.timestamped_window import TimestampedWindowStore
from millstream.streams.state.timestamped_window_headers import TimestampedWindowStoreWithHeaders
from millstream.streams.state.transaction import StoreMetadata, TransactionalRows
from millstream.streams.state.versioned import VersionedKeyValueStore

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
